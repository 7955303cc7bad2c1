#include "sim/engine/incremental_transport.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cassert>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/fair_rates.hpp"
#include "sim/engine/indexed_heap.hpp"

namespace gradwire {
namespace {

/// What is due this near, relative to the clock, is due now.
constexpr double same_instant = 8 * std::numeric_limits<double>::epsilon();
/// The least slack, relative to a flow's time in flight: the rounding of some thousand changes of
/// its rate.
constexpr double slack_least = 1e-12;

/// Targets in a clock's heap, over its streams, at which the outdated ones are taken out.
constexpr std::size_t outdated_max = 4;
constexpr std::size_t heap_least = 64;

/// A clock that counts more bytes begins anew: so that its rounding stays below a millionth of one.
constexpr double served_most = 1e9;

/// With slack the others' shares beside copies change (FairRates) where a window ends, this part of
/// the messages' mean time in flight. Iterations of 8 V100 a machine that share PCIe, by windows
/// and by exact turns, on 100 Gbit/s: P3 of ResNet-50 on 64 and 128 machines 94.02 and 94.04
/// ms, 98.30 and 98.33; MXNet's KVStore on 128 102.91 and 102.88; BytePS on 96 and 128 216.31 and
/// 216.06, 265.18 and 264.91, of BERT-Large on 64 686.1 and 684.8; parameter servers on 128 2183.3
/// and 2183.1.
constexpr double window_share = 0.1;

/// Streams that a row limits have its rate: what is served to them is counted once, by the row's
/// clock, and only the first end of each clock is looked for. Other streams have their own clocks.
class IncrementalTransport final : public Transport {
 public:
  IncrementalTransport(const FlowProblem& problem, double slack)
      : rates_(problem, slack),
        slack_(std::max(slack, slack_least)),
        window_share_(slack > 0 ? window_share : 0),
        copies_(problem.copies),
        messages_timed_(static_cast<double>(problem.columns.size())),
        clocks_(rates_.rows()) {
    // Mostly one of each column at most: hundreds of thousands must not be moved as they come.
    streams_.reserve(problem.columns.size());
    for (std::uint32_t row = 0; row < rates_.rows(); ++row) clocks_[row].key = row;
  }

  void start(std::uint32_t column, double bytes, double rate_cap, Token token) override {
    assert(bytes > 0 && rate_cap > 0);
    const FairRates::StreamId id = rates_.add(column, rate_cap);
    if (streams_.size() <= id) streams_.resize(id + 1);
    Stream& stream = streams_[id];
    stream.is_copy = !copies_.empty() && copies_[column];
    if (stream.flows.empty()) {
      stream.ahead = 0;
      ++in_flight_;
    }
    stream.flows.push_back({served_to(stream) + bytes, now_, token});
    std::ranges::push_heap(stream.flows, std::greater<>());
    if (stream.flows.front().token == token && stream.clock != no_clock) note_due(id);
  }

  void wake_at(Seconds when) override { wake_ = std::min(when.count(), wake_.value_or(never)); }

  void run(Listener& listener) override {
    try {
      while (in_flight_ > 0 || wake_) step(listener);
    } catch (...) {
      drop_all();
      throw;
    }
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  /// The row of that number's, or behind them all that of a stream that has its own.
  using ClockId = std::uint32_t;
  static constexpr ClockId no_clock = std::numeric_limits<ClockId>::max();

  struct Flow {
    double target = 0;  ///< bytes that its stream has served it when it ends
    double started = 0;
    Token token = 0;
    auto operator<=>(const Flow&) const = default;
  };
  /// Flows with the same rate at all times: they end in the order of their targets.
  struct Stream {
    boost::container::small_vector<Flow, 1> flows;  ///< heap; the first to end at the front
    /// Bytes served to each of its flows since the stream began, beyond those by its clock.
    double ahead = 0;
    ClockId clock = no_clock;   ///< of one that has no rate yet
    std::uint32_t version = 0;  ///< of what its clock knows of it
    bool is_copy = false;
  };
  /// A stream's first target by its clock.
  struct Due {
    double target = 0;
    FairRates::StreamId stream = 0;
    std::uint32_t version = 0;
  };
  /// A type, so that heaps call no pointer.
  struct Later {
    bool operator()(const Due& a, const Due& b) const {
      if (a.target != b.target) return a.target > b.target;
      return a.stream != b.stream ? a.stream > b.stream : a.version > b.version;
    }
  };
  struct Clock {
    double served = 0;  ///< bytes, at `since`
    double since = 0;
    double rate = 0;  ///< from `since` on
    std::size_t streams = 0;
    std::vector<Due> due;  ///< heap; some outdated
    /// The first flow's end, and the one in the heap, no later than it; never: none is there.
    double end = never;
    double noted = never;
    /// In the heap: the row, or behind them all the stream whose own it is; no_clock: nobody's.
    std::uint32_t key = no_clock;
    bool asked = false;  ///< it is in `asked_`
  };

  void step(Listener& listener) {
    change_rates();
    settle_first();
    const double wake = wake_.value_or(never);
    double first = never;
    if (!ends_.empty()) first = std::max(now_, ends_.front().time);
    if (rates_.window_end() < std::min(first, wake)) {
      now_ = rates_.window_end();
      return;
    }
    const bool woken = wake <= first * (1 + same_instant);
    now_ = woken ? wake : first;
    if (woken) wake_.reset();
    ended_.clear();
    // The latest that the ends taken so far may be reported; not past a wake-up.
    double latest = woken ? wake * (1 + same_instant) : wake;
    for (; !ends_.empty() && ends_.front().time <= latest; settle_first()) {
      const IndexedHeap::Entry end = ends_.front();
      if (!woken) now_ = std::max(now_, end.time);
      const FairRates::StreamId stream = clocks_[clock_of(end.id)].due.front().stream;
      const Flow& flow = streams_[stream].flows.front();
      latest = std::min(latest, std::max(end.time * (1 + same_instant),
                                         end.time + slack_ * (end.time - flow.started)));
      ended_.push_back(flow.token);
      drop_first(stream);
    }
    listener.on_instant(Seconds{now_}, ended_);
  }

  void change_rates() {
    const FairRates::Changes changes = rates_.update(now_, window_share_ * flight_);
    for (const std::uint32_t row : changes.rows) set_rate(row, rates_.level(row));
    for (const FairRates::StreamId id : changes.streams) {
      Stream& stream = streams_[id];
      if (stream.flows.empty()) continue;
      const std::uint32_t row = rates_.limit(id);
      const ClockId clock = row == FairRates::no_row ? own_clock(id) : row;
      if (clock != stream.clock) {
        leave(id);
        join(id, clock);
      }
      if (row == FairRates::no_row) set_rate(clock, rates_.rate(id));
    }
    for (const ClockId id : asked_) {
      clocks_[id].asked = false;
      look_for_end(id);
    }
    asked_.clear();
  }

  /// The first flow of a stream is over.
  void drop_first(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    std::ranges::pop_heap(stream.flows, std::greater<>());
    const Flow over = stream.flows.back();
    stream.flows.pop_back();
    const ClockId clock = stream.clock;
    rates_.remove(id);
    if (!stream.is_copy && timed_ < messages_timed_) {
      flight_ += (now_ - over.started - flight_) / ++timed_;
    }
    if (!stream.flows.empty()) {
      note_due(id);
    } else {
      leave(id);
      --in_flight_;
    }
    if (clock != no_clock) look_for_end(clock);
  }

  void drop_all() {
    for (FairRates::StreamId id = 0; id < streams_.size(); ++id) {
      while (!streams_[id].flows.empty()) drop_first(id);
    }
    ends_.clear();
    wake_.reset();
  }

  // ---- clocks and their streams -----------------------------------------------------------------

  [[nodiscard]] bool is_own(ClockId id) const { return id != no_clock && id >= rates_.rows(); }

  /// The one whose end is in the heap by that key.
  [[nodiscard]] ClockId clock_of(std::uint32_t key) const {
    return key < rates_.rows() ? key : streams_[key - rates_.rows()].clock;
  }

  /// The one that it has, or one that nobody has.
  [[nodiscard]] ClockId own_clock(FairRates::StreamId id) {
    if (is_own(streams_[id].clock)) return streams_[id].clock;
    if (free_.empty()) {
      free_.push_back(static_cast<ClockId>(clocks_.size()));
      clocks_.emplace_back();
    }
    const ClockId own = free_.back();
    free_.pop_back();
    clocks_[own].key = rates_.rows() + id;
    return own;
  }

  /// Its stream has left it.
  void give_back(ClockId own) {
    Clock& clock = clocks_[own];
    ends_.erase(clock.key);
    clock.key = no_clock;
    clock.rate = 0;
    clock.end = clock.noted = never;
    free_.push_back(own);
  }

  [[nodiscard]] double served_by(const Clock& clock) const {
    return clock.served + clock.rate * (now_ - clock.since);
  }

  /// Bytes to each of its flows since it began.
  [[nodiscard]] double served_to(const Stream& stream) const {
    return stream.clock == no_clock ? 0 : served_by(clocks_[stream.clock]) + stream.ahead;
  }

  void set_rate(ClockId id, double rate) {
    Clock& clock = clocks_[id];
    clock.served = served_by(clock);
    clock.since = now_;
    clock.rate = rate;
    if (clock.served > served_most) begin_anew(clock);
    ask_for_end(id);
  }

  void begin_anew(Clock& clock) {
    std::erase_if(clock.due, [this](const Due& due) { return is_outdated(due); });
    for (Due& due : clock.due) {
      due.target -= clock.served;
      streams_[due.stream].ahead += clock.served;
    }
    std::ranges::make_heap(clock.due, Later());
    clock.served = 0;
  }

  void join(FairRates::StreamId id, ClockId to) {
    Clock& clock = clocks_[to];
    if (clock.streams++ == 0) {
      clock.served = 0;
      clock.since = now_;
    }
    streams_[id].clock = to;
    streams_[id].ahead -= served_by(clock);
    note_due(id);
  }

  void leave(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    const ClockId left = std::exchange(stream.clock, no_clock);
    if (left == no_clock) return;
    Clock& clock = clocks_[left];
    ++stream.version;
    if (--clock.streams == 0) clock.due.clear();
    stream.ahead += served_by(clock);
    if (is_own(left)) return give_back(left);
    ask_for_end(left);
  }

  /// A stream of a clock has another first flow, or is new there.
  void note_due(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    auto& due = clocks_[stream.clock].due;
    due.push_back({stream.flows.front().target - stream.ahead, id, ++stream.version});
    std::ranges::push_heap(due, Later());
    if (due.size() > heap_least + outdated_max * clocks_[stream.clock].streams) {
      std::erase_if(due, [this](const Due& one) { return is_outdated(one); });
      std::ranges::make_heap(due, Later());
    }
    ask_for_end(stream.clock);
  }

  [[nodiscard]] bool is_outdated(const Due& due) const {
    return streams_[due.stream].version != due.version;
  }

  // ---- the heap of the clocks' first ends -------------------------------------------------------

  /// A clock's rate or its first stream has changed: others may yet change.
  void ask_for_end(ClockId id) {
    if (!std::exchange(clocks_[id].asked, true)) asked_.push_back(id);
  }

  void look_for_end(ClockId id) {
    Clock& clock = clocks_[id];
    auto& due = clock.due;
    while (!due.empty() && is_outdated(due.front())) {
      std::ranges::pop_heap(due, Later());
      due.pop_back();
    }
    if (due.empty() || clock.rate == 0) {
      clock.end = clock.noted = never;
      return ends_.erase(clock.key);
    }
    clock.end = clock.since + std::max(0.0, due.front().target - clock.served) / clock.rate;
    // A later one is noted when the other is due: most have changed again by then.
    if (clock.end < clock.noted) ends_.set(clock.key, clock.noted = clock.end);
  }

  /// Until the first in the heap is its clock's end.
  void settle_first() {
    while (!ends_.empty()) {
      const auto [time, key] = ends_.front();
      Clock& clock = clocks_[clock_of(key)];
      if (clock.end == time) return;
      ends_.set(key, clock.noted = clock.end);
    }
  }

  FairRates rates_;
  double slack_;
  double window_share_;       ///< 0: no windows
  std::vector<bool> copies_;  ///< by column; empty: none
  /// Of the first messages, so that windows are later as they were before.
  double messages_timed_;
  double timed_ = 0;
  double flight_ = 0;            ///< their mean time
  std::vector<Stream> streams_;  ///< by FairRates' numbers
  std::vector<Clock> clocks_;    ///< few streams have their own at one time
  std::vector<ClockId> free_;    ///< own ones that nobody has
  IndexedHeap ends_;             ///< by clock's key
  std::size_t in_flight_ = 0;    ///< streams
  std::optional<double> wake_;
  std::vector<Token> ended_;    ///< in this instant
  std::vector<ClockId> asked_;  ///< clocks whose first end may be another
  double now_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_incremental_transport(const FlowProblem& problem, double slack) {
  return std::make_unique<IncrementalTransport>(problem, slack);
}

}  // namespace gradwire
