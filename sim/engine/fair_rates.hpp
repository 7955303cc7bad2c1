#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// Max-min fair rates of flows that come and go, kept up to date at the cost of what changes.
///
/// Flows through the same rows with the same cap have the same rate: together they are a stream.
/// Only rows whose bottleneck moved are filled anew; the streams of all other rows keep their
/// rates. Start with the rows that a flow left or that a new one overfills. Fill them
/// progressively, with the levels of the full rows beside them as caps. A row beside them that is
/// then overfull, or no longer full, joins and the filling is repeated, until there is none. Then
/// each flow again has a full row in which none is faster (Bertsekas and Gallager, Data Networks
/// (1992), section 6.5.2), so that the rates are those of a filling from nothing, up to rounding.
class FairRates {
 public:
  using StreamId = std::uint32_t;

  /// @param slack  share of a full row's capacity that may stay unused before its rates rise, >= 0.
  ///               No row is ever overfull.
  FairRates(const FlowProblem& problem, double slack);

  /// A flow through a column, at `cap` bytes per second at most.
  /// @return its stream; a new one has a number that no present one has, as small as possible.
  StreamId add(std::uint32_t column, double cap);
  /// One of the stream's flows is gone; with its last one the stream is.
  void remove(StreamId id);
  /// Makes the rates fair again. @return the streams whose rates changed, until the next call; one
  /// may stand there twice.
  std::span<const StreamId> update();
  /// Bytes per second of each flow. REQUIRES: update() since one was added.
  [[nodiscard]] double rate(StreamId stream) const { return streams_[stream].rate; }
  /// How many flows.
  [[nodiscard]] double count(StreamId stream) const { return streams_[stream].count; }

 private:
  struct Member {
    StreamId stream = 0;
    std::uint32_t use = 0;  ///< which of the stream's uses this is
  };
  struct Row {
    double capacity = 0;
    double load = 0;
    double weight = 0;       ///< of all flows
    double left = 0;         ///< filled anew: capacity less what is given; beside it: new load
    double left_weight = 0;  ///< filled anew: of flows not yet given a rate
    bool filling = false;    ///< filled anew
    bool touched = false;    ///< beside a row that is
  };
  struct Stream {
    std::span<const RowUse> uses;
    double cap = 0;
    double rate = 0;
    double count = 0;  ///< flows
    std::uint32_t way = 0;
    std::uint32_t round = 0;  ///< when it was met last
    double ceiling = 0;       ///< the cap, and the levels of full rows that are not filled anew
    double next = unknown;    ///< its new rate
  };
  static constexpr double unknown = -1;

  [[nodiscard]] bool is_full(std::uint32_t row) const { return level_[row] < Transport::no_cap; }
  [[nodiscard]] std::span<const RowUse> uses_of(std::uint32_t way) const {
    return std::span(uses_).subspan(begin_[way], begin_[way + 1] - begin_[way]);
  }
  StreamId stream_of(std::uint32_t way, double cap);
  void enter_rows(StreamId id);
  void leave_rows(StreamId id);
  void fill_anew(std::uint32_t row);
  /// The row where a new stream would get least.
  [[nodiscard]] std::uint32_t narrowest(const Stream& stream) const;
  void meet();
  void fill();
  /// Gives rates to members of the row that is lowest: those with a lower ceiling, or else all.
  void fill_row(std::uint32_t row);
  void give(Stream& stream, double rate);
  /// Lets rows join that the new rates overfill, or leave not full. @return none did.
  bool settle();
  void commit();

  double slack_;
  std::vector<std::uint32_t> way_;  ///< column -> a way through those of its rows that can be full
  std::vector<std::size_t> begin_;  ///< way -> its uses
  std::vector<RowUse> uses_;
  std::vector<Row> rows_;
  /// Row -> rate of the flows that it limits; no_cap: it limits none, or is filled anew.
  std::vector<double> level_;
  std::vector<std::vector<Member>> members_;  ///< by row
  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint32_t>> position_;  ///< stream, use -> index in members_
  std::vector<std::vector<StreamId>> present_;        ///< by way
  std::vector<StreamId> free_;
  std::vector<std::uint32_t> filling_;
  std::vector<std::uint32_t> touched_;
  std::vector<StreamId> met_;
  std::vector<StreamId> changed_;
  std::vector<StreamId> told_;                            ///< those of the last update()
  std::vector<std::pair<double, std::uint32_t>> lowest_;  ///< heap of levels and rows
  std::uint32_t round_ = 0;
};

}  // namespace gradwire
