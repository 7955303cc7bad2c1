#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/cost/collective_shape.hpp"
#include "sim/cost/fitted_collective.hpp"

namespace gradwire {

/// One measurement: an uncontended collective of this size.
struct MeasuredRow {
  Bytes size{0};
  Seconds time;
  std::string algorithm;  ///< "" when the source does not say
  std::string protocol;   ///< same
  int channels = 0;       ///< 0 when the source does not say
};

/// Where measurements come from, for the reader of the file; prices need none of it.
struct TableSource {
  std::string kind;  ///< "recorded" | "imported" | "derived"
  std::string file;
  std::string tool{};  ///< "" when not written, as the next two
  std::string date{};
  std::string notes{};
};

/// The measurements of one collective on one number of ranks and machines.
struct MeasuredSeries {
  CollectiveKind op = CollectiveKind::all_reduce;
  int ranks = 0;
  int machines = 0;
  std::vector<MeasuredRow> rows;
  bool in_place = false;  ///< send and receive buffer are the same
  std::string version{};  ///< of the library, "" when not written
  std::string network{};  ///< between the machines, same
  TableSource source{};
};

/// A file of measurements and what was fitted to them.
struct CollectiveTable {
  std::string library;
  std::string node{};  ///< "" when not written, as the next two
  std::string gpu{};
  std::string notes{};
  std::vector<MeasuredSeries> series;
  std::vector<CollectiveFit> fits{};  ///< one an operation and class of hops
};

/// Prices from measurements; a row that names its algorithm is run by it where `fallback` plans it,
/// another by the one that `fallback` takes, or where the links are too slow for that, by the first
/// that they are fast enough for.
///
/// Between two rows t is a power of the size (a line in log-log). Below the smallest it is
/// a + b * size through the two smallest rows, neither a nor b negative; above the largest, the
/// bandwidth of the largest. Ranks and machines must match exactly; for others a fit of the same
/// operation and class of hops prices the algorithm that `fallback` takes, where the table has one;
/// what neither covers, `fallback` prices. Rows of a library of host memory are of buffers there:
/// the copies of a GPU's tensors come on top.
class MeasuredTable final : public CollectiveLibrary {
 public:
  /// REQUIRES: every series has a row, sizes rise and are > 0, times are > 0; no two series are of
  /// the same (op, ranks, machines); every fit has a segment; `fallback` is not null; `cluster`,
  /// whose links the patterns use, is not null where there are fits.
  MeasuredTable(CollectiveTable table, std::shared_ptr<const Cluster> cluster,
                std::shared_ptr<const CollectiveLibrary> fallback);

  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;
  [[nodiscard]] int concurrent_collectives() const override {
    return fallback_->concurrent_collectives();
  }
  [[nodiscard]] bool on_gpu() const override { return fallback_->on_gpu(); }

 private:
  [[nodiscard]] CollectiveShape shape_of_known(const Pattern& pattern) const;
  /// A pattern whose bytes the links can move in that time: `preferred` where it can, or where none
  /// can.
  [[nodiscard]] std::size_t one_that_can(std::span<const Pattern> patterns, Bytes size,
                                         Seconds time, std::size_t preferred) const;
  void price_by_fit(std::span<const Pattern> patterns, Bytes size, CollectiveChoice& choice) const;
  /// Of a collective that has series, but none among these ranks; "" where there is nothing to
  /// tell.
  [[nodiscard]] std::string told_missing(const Pattern& pattern) const;

  CollectiveTable table_;
  std::shared_ptr<const Cluster> cluster_;
  BytesPerSecond copy_rate_;  ///< slowest_host_copy
  std::shared_ptr<const CollectiveLibrary> fallback_;
  /// By Pattern::key: looking through the links of a large cluster takes milliseconds.
  mutable std::unordered_map<std::uint64_t, CollectiveShape> known_;
};

}  // namespace gradwire
