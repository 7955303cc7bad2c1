#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cost/collective_library.hpp"

namespace gradwire {

/// One measurement: a collective of this size, alone.
struct MeasuredRow {
  Bytes size{0};
  Seconds time;
  std::string algorithm;  ///< "" when the source does not say
  std::string protocol;   ///< same
};

/// The measurements of one collective on one number of ranks and machines.
struct MeasuredSeries {
  CollectiveKind op = CollectiveKind::all_reduce;
  int ranks = 0;
  int machines = 0;
  std::vector<MeasuredRow> rows;
};

/// Prices from measurements; a row that names its algorithm is run by it where `fallback` plans it.
///
/// Between two rows t is a power of the size (a line in log-log). Below the smallest it is
/// a + b * size through the two smallest rows, neither a nor b negative; above the largest, the
/// bandwidth of the largest. Ranks and machines must match exactly: for others, and for collectives
/// that were not measured, `fallback` prices.
class MeasuredTable final : public CollectiveLibrary {
 public:
  /// REQUIRES: every series has a row, sizes rise and are > 0, times are > 0; no two series are of
  /// the same (op, ranks, machines); `fallback` is not null.
  MeasuredTable(std::vector<MeasuredSeries> series,
                std::shared_ptr<const CollectiveLibrary> fallback);

  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;

 private:
  std::vector<MeasuredSeries> series_;
  std::shared_ptr<const CollectiveLibrary> fallback_;
};

}  // namespace gradwire
