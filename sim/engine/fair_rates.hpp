#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/lagging_share.hpp"
#include "sim/engine/route_classes.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {

/// Max-min fair rates of flows that come and go, kept up to date at the cost of what changes.
///
/// Flows through the same rows with the same cap have the same rate: together they are a stream.
/// What only streams of one route class through the rows pass is no row but bounds their rates.
/// Only rows whose bottleneck moved are filled anew, and of their streams only those that they
/// limit are met; all others keep their rates. Start with the rows that a flow left or that a new
/// one overfills. Fill them progressively, with the levels of the full rows beside them as caps. A
/// row beside them that is then overfull, or no longer full, joins, and so does a stream that is
/// faster than a row's new level; the filling is repeated, until there is none. Then each flow
/// again has a full row in which none is faster (Bertsekas and Gallager, Data Networks (1992),
/// section 6.5.2), so that the rates are those of a filling from nothing, up to rounding.
/// A row that copies share with other flows is two (RouteClasses::Turns), which have no stream in
/// common: the others' share of it is known before any rate, and what copies have after theirs.
/// With a window it changes where one ends only (LaggingShare): each short copy would change the
/// rates of hundreds of messages twice.
class FairRates {
 public:
  using StreamId = std::uint32_t;
  static constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
  /// Other streams' rates are what they were, or change as their row's level.
  struct Changes {
    std::span<const StreamId> streams;    ///< with another limit, or another rate without one
    std::span<const std::uint32_t> rows;  ///< with another level
  };

  /// @param slack  share of a full row's capacity that may stay unused before its rates rise, >= 0.
  ///               No row is ever overfull.
  FairRates(const FlowProblem& problem, double slack);

  /// A flow through a column, at `cap` bytes per second at most.
  /// @return its stream; a new one has a number that no present one has, no larger than there
  /// were streams and route classes.
  StreamId add(std::uint32_t column, double cap);
  /// One of the stream's flows is gone; with its last one the stream is.
  void remove(StreamId id);
  /// Makes the rates fair again.
  /// @param now     s, no earlier than the last call's.
  /// @param window  s, for which others may have another share beside copies than theirs; 0: none.
  /// @return what changed, until the next call.
  Changes update(double now = 0, double window = 0);
  /// When update() has to be called, whatever else happens.
  [[nodiscard]] double window_end() const { return window_end_; }
  /// Bytes per second of each flow. REQUIRES: update() since one was added.
  [[nodiscard]] double rate(StreamId stream) const {
    const std::uint32_t row = limit_[stream];
    const bool alike = row != no_row && limited_rate_[row] != unlike;
    return alike ? limited_rate_[row] : rate_[stream];
  }
  /// The row whose level is the stream's rate, up to rounding; no_row: none is. REQUIRES: as
  /// rate().
  [[nodiscard]] std::uint32_t limit(StreamId stream) const { return limit_[stream]; }
  /// Bytes per second of each flow that the row limits; 0: it limits none. REQUIRES: as rate().
  [[nodiscard]] double level(std::uint32_t row) const { return is_full(row) ? level_[row] : 0; }
  /// How many rows there are: those of the problem that take part, in their order.
  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// How many flows.
  [[nodiscard]] double count(StreamId stream) const { return streams_[stream].count; }

 private:
  struct Member {
    StreamId stream = 0;
    std::uint32_t use = 0;     ///< which of the stream's uses this is
    std::uint32_t weight = 0;  ///< of all its flows
  };
  static constexpr double unknown = -1;
  static constexpr double is_filling = -1;  ///< below all levels
  static constexpr double unlike = -1;      ///< no rate
  /// A row is full within this share of its capacity: sums over some thousand members are exact to
  /// 1e-13.
  static constexpr double full_within = 1e-12;
  static constexpr StreamId no_stream = std::numeric_limits<StreamId>::max();
  /// So many streams ahead of the one that is looked at, another is fetched from memory: they lie
  /// anywhere in some megabytes. What only fetches has no effect, to g++ 12, which takes calls of
  /// it out: it is always inlined.
  static constexpr std::size_t streams_ahead = 6;

  struct alignas(64) Row {  // a cache line: each met stream visits all of its own
    double capacity = 0;
    double load = 0;
    double weight = 0;            ///< of all flows
    double left = 0;              ///< filled anew: capacity less what is given
    double left_weight = 0;       ///< filled anew: of flows met and not yet given a rate
    std::uint32_t met_begin = 0;  ///< filled anew: its first in `met_of_`, and how many there
    std::uint32_t met_count = 0;
    std::uint32_t filled = 0;  ///< 1: anew; a number, to be added where a branch would be guessed
    std::uint32_t turns = no_row;  ///< index into `turns_`
  };
  /// What others' fillings do to a row.
  struct Beside {
    /// Of streams that it does not limit none is faster: those that need not be looked through.
    double fastest = 0;
    double load = 0;          ///< with the new rates, where it is not filled anew
    std::uint32_t round = 0;  ///< of the last filling that changed that
  };
  /// A row of others and one of copies.
  struct Turns : RouteClasses::Turns {
    LaggingShare share;  ///< the others'
    bool moved = false;  ///< the others' load may be another: it is in `moved_`
    bool asked = false;  ///< copies have come or gone: it is in `asked_`
    bool lags = false;   ///< the others may have another share than theirs: it is in `lagging_`
  };
  /// Of a row that is filled anew.
  struct Filling {
    /// Streams that it does not meet are no faster; no_cap: unknown.
    double was = 0;
    /// The least of the bounds of those that nobody else meets, and of levels beside them.
    double ceiling = Transport::no_cap;
    std::uint32_t alone = 0;      ///< how many those are
    std::uint32_t own_begin = 0;  ///< in what it has of `met_of_`, of those that it limits
    std::uint32_t own_end = 0;
  };
  struct Stream {
    std::uint32_t route = 0;
    std::uint32_t uses_begin = 0;  ///< of its route class
    std::uint32_t uses_end = 0;
    std::uint32_t count = 0;  ///< flows
    double cap = 0;
    double bound = 0;  ///< the cap, or less where the route class's own rows let through less
    std::uint32_t limited_at = 0;  ///< index in the row's `limited_`
    std::uint32_t round = 0;       ///< of the filling in which it joined last
    StreamId next = no_stream;     ///< of its route class
  };
  /// A stream that a row limits, with all that it is asked for when the row is filled anew: most
  /// are met there alone, thousands one after the other.
  struct Limited {
    StreamId stream = 0;
    std::uint32_t weight = 1;  ///< on that row
    std::uint32_t count = 0;
    std::uint32_t others = 0;  ///< how many other rows it passes
    double bound = 0;
  };
  struct LimitedList {
    std::vector<Limited> streams;
    std::vector<RowUse> others;  ///< `others_most_` for each, those of other rows
  };
  /// A stream in a filling, that several rows meet or that has joined.
  struct Met {
    StreamId id = 0;
    std::uint32_t next_limit = no_row;  ///< of `next`, else of `ceiling`
    std::uint32_t row = no_row;         ///< that limits it and is filled anew
    std::uint32_t weight = 0;           ///< on that row
    std::uint32_t limited_at = 0;       ///< there
    std::uint32_t uses_count = 0;
    const RowUse* uses = nullptr;  ///< of other rows
    double count = 0;
    double rate = 0;
    double ceiling = 0;     ///< the bound, and the levels of full rows not filled anew
    double next = unknown;  ///< its new rate
  };
  /// Of a row that has met nobody yet.
  struct Demand {
    StreamId stream = 0;
    double weight = 0;
    double rate = 0;
    double demand = 0;  ///< no_cap: the row limits it
  };

  [[nodiscard]] bool is_full(std::uint32_t row) const { return level_[row] < Transport::no_cap; }
  [[nodiscard]] std::span<const RowUse> uses_of(const Stream& stream) const {
    return {routes_.uses.data() + stream.uses_begin, routes_.uses.data() + stream.uses_end};
  }
  StreamId stream_of(std::uint32_t route, double cap);
  /// The stream's last flow is gone.
  void drop(StreamId id);
  /// Of a use of a stream, where it stands in `members_`.
  [[nodiscard]] std::uint32_t& position(StreamId stream, std::uint32_t use) {
    return position_[stream * uses_most_ + use];
  }
  /// Shares what the route class's own rows let through anew, after a flow came or went.
  void bound(std::uint32_t route);
  /// Of them one gets no more than this level.
  void bound(StreamId id, double level);
  /// Gives a stream the rate that its rows' levels let it have.
  void enter(StreamId id);
  /// With this load a row would be overfull, or full no longer.
  [[nodiscard]] bool is_off(std::uint32_t row, double load) const;
  /// The rates of a row's streams, or their number, have changed, and its load with them.
  void check_load(std::uint32_t row) {
    if (is_off(row, rows_[row].load)) fill_anew(row);
  }
  void enter_rows(StreamId id);
  void leave_rows(StreamId id);
  /// Moves a stream to the row that limits it now, and gives it its rate.
  void limit_by(StreamId id, std::uint32_t row, double rate);
  void take_from(LimitedList& list, StreamId id);
  void put_into(LimitedList& list, StreamId id, std::uint32_t row);
  void set_rate(StreamId id, double rate);
  /// A stream that a row does not limit has this rate.
  void note_rate(std::uint32_t row, double rate) {
    of_beside_[row].fastest = std::max(of_beside_[row].fastest, rate);
  }
  /// Its flows or its bound are others now.
  void note_limited(StreamId id) {
    if (limit_[id] == no_row) return;
    Limited& limited = limited_[limit_[id]].streams[streams_[id].limited_at];
    limited.count = streams_[id].count;
    limited.bound = streams_[id].bound;
  }
  void fill_anew(std::uint32_t row);
  /// A flow of a row has come or gone.
  void ask_turns(std::uint32_t row) {
    const std::uint32_t index = rows_[row].turns;
    if (index == no_row || row != turns_[index].copies) return;
    if (!std::exchange(turns_[index].asked, true)) asked_.push_back(index);
  }
  /// A row's load has changed.
  void note_turns(std::uint32_t row) {
    const std::uint32_t index = rows_[row].turns;
    if (index == no_row || row != turns_[index].others) return;
    if (!std::exchange(turns_[index].moved, true)) moved_.push_back(index);
  }
  void set_capacity(std::uint32_t row, double capacity);
  /// Finds the others' share where copies have come or gone, and what it leaves these.
  void share_turns(double now, double window);
  /// Gives the others' rows what they have in the next window.
  void give_shares(double now, double window);
  /// Gives the copies' rows what the others leave.
  void leave_rest();
  [[nodiscard]] double others_share(const Turns& turns);
  /// Fills rows until none is off.
  void fill_all();
  /// The row where a new stream would get least.
  [[nodiscard]] std::uint32_t narrowest(const Stream& stream) const;
  void meet();
  /// Meets those that a row limits.
  void meet_limited(std::uint32_t index);
  /// Meets a stream that has joined.
  void meet(StreamId id);
  /// Counts one that is met, the last in `met_`, on all rows that it passes, but for what its own
  /// row sums.
  void count(const Met& met);
  /// Puts one that a row limits into `met_`.
  void number(std::uint32_t index, std::size_t limited_at);
  /// Finds what holds one that is met.
  void find_ceiling(Met& met) const;
  /// Meets by themselves those of a row that nobody else meets: something holds them.
  void meet_alone(std::uint32_t index);
  [[nodiscard]] bool is_met(StreamId id) const {
    const std::uint32_t row = limit_[id];
    return streams_[id].round == round_ || (row != no_row && rows_[row].filled == 1);
  }
  /// What a row has of `met_of_`.
  [[nodiscard]] std::span<const std::uint32_t> met_of(std::uint32_t row) const {
    return {met_of_.data() + rows_[row].met_begin, rows_[row].met_count};
  }
  /// Of them those that it limits.
  [[nodiscard]] std::span<const std::uint32_t> own_met_of(std::uint32_t row) const {
    const Filling& filling = of_filling_[row];
    return met_of(row).subspan(filling.own_begin, filling.own_end - filling.own_begin);
  }
  /// Calls one(number) for each of `met_` that a row limits, and alone(from, to) between them for
  /// those that only it meets, in the order of its `limited_`.
  template <class One, class Alone>
  void visit_limited(std::uint32_t index, One one, Alone alone) const {
    std::size_t from = 0;
    for (const std::uint32_t number : own_met_of(index)) {
      const std::size_t to = met_[number].limited_at;
      if (from < to) alone(from, to);
      one(number);
      from = to + 1;
    }
    const std::size_t to = limited_[index].streams.size();
    if (from < to) alone(from, to);
  }
  /// Asks for the memory of what is looked at soon. @param next  index of what is now.
  [[gnu::always_inline]] void fetch(std::span<const Member> members, std::size_t next) const {
    const std::size_t soon = next + streams_ahead;
    if (soon >= members.size()) return;
    __builtin_prefetch(&limit_[members[soon].stream]);
    __builtin_prefetch(&rate_[members[soon].stream]);
  }
  /// Lets streams join that would be faster than the row's level if all others kept their rates.
  void guess(std::uint32_t index);
  /// Lets streams join that a row has not met and that are faster.
  void join_faster(std::uint32_t row, double level);
  void fill();
  /// Puts an entry in the place of the first of `lowest_`: most stay near it, where taking one out
  /// and putting it in again would go through the heap twice.
  void put_first(const std::pair<double, std::uint32_t>& entry);
  /// Gives rates to met streams of the row that is lowest: those with a lower ceiling, or else all.
  void fill_row(std::uint32_t row);
  void give(Met& met, double rate);
  /// Gives a row's level to those of its streams from `from` up to `to` that only it meets.
  void give_level(std::uint32_t index, std::size_t from, std::size_t to);
  /// Lets rows join that the new rates overfill, or leave not full. @return none did.
  bool settle();
  void settle(const Met& met);
  void settle_alone(std::uint32_t index, std::size_t from, std::size_t to);
  /// A row that is not filled anew gets another load.
  void load_beside(const RowUse& use, double faster) {
    Beside& row = of_beside_[use.row];
    if (std::exchange(row.round, round_) != round_) {
      row.load = rows_[use.row].load;
      beside_.push_back(use.row);
    }
    row.load += use.weight * faster;
  }
  /// Lets streams join that are faster than a row's new level. @return none did.
  bool settle_streams();
  void commit();
  void commit_alone(std::uint32_t index);
  /// All that a row limits have one rate, if it is so.
  void liken(std::uint32_t index);

  double slack_;
  RouteClasses routes_;
  std::vector<Row> rows_;
  std::vector<Filling> of_filling_;  ///< by row
  std::vector<Beside> of_beside_;    ///< by row
  /// Row -> rate of the flows that it limits; no_cap: it limits none, or is filled anew.
  std::vector<double> level_;
  std::vector<double> level_beside_;          ///< by row: that, or is_filling
  std::vector<std::vector<Member>> members_;  ///< by row
  std::vector<LimitedList> limited_;          ///< by row: those with this limit
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> limit_;  ///< by stream: the row whose level is its rate, or no_row
  /// By row: the rate of all that it limits; unlike: each has its own, in `rate_`, as all others.
  std::vector<double> limited_rate_;
  std::vector<double> rate_;             ///< by stream
  std::size_t uses_most_ = 0;            ///< of a route class
  std::size_t others_most_ = 0;          ///< less one
  std::vector<std::uint32_t> position_;  ///< stream * uses_most_ + use -> index in members_
  std::vector<StreamId> first_;          ///< by route class, of those present
  std::vector<StreamId> of_route_;       ///< those of one that is bounded
  /// Numbers of streams that are gone: by route class the last one's, which its next one gets, so
  /// that those that come together stand together; and others.
  std::vector<StreamId> kept_;
  std::vector<StreamId> free_;
  std::vector<std::uint32_t> filling_;
  std::vector<std::uint32_t> beside_;  ///< rows that are not filled anew and whose load changes
  std::vector<Met> met_;
  std::size_t joined_begin_ = 0;  ///< those of `met_` that have joined
  std::size_t joined_end_ = 0;
  /// Of each row that is filled anew those of `met_` that pass it, from 1 on: what other rows write
  /// ends at 0. First those that rows filled before it limit, then its own, then others.
  std::vector<std::uint32_t> met_of_;
  std::vector<std::uint32_t> own_;  ///< of a row whose own are met by themselves
  std::vector<Demand> demands_;
  std::vector<StreamId> joined_;  ///< streams faster than the new level of a row that met others
  std::vector<StreamId> changed_;
  std::vector<StreamId> told_;  ///< of the last update()
  std::vector<std::uint32_t> told_rows_;
  std::vector<std::pair<double, std::uint32_t>> lowest_;  ///< heap of levels and rows
  std::vector<Turns> turns_;
  std::vector<std::uint32_t> asked_;
  std::vector<std::uint32_t> moved_;
  std::vector<std::uint32_t> lagging_;
  double window_end_ = Transport::no_cap;  ///< no_cap: all have their share
  double level_since_ = 0;                 ///< when that was so last
  std::uint32_t round_ = 0;
};

}  // namespace gradwire
