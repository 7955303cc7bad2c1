#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/collective_shape.hpp"

namespace gradwire {

/// One regime of a fit: a protocol with its channels, where the library keeps to them.
///
///   t = launch + local_steps * hop_local + network_steps * hop_network
///       + size * max(per_byte, link_time * per_byte + local_pass)
///
/// with steps and per_byte of the pattern's CollectiveShape. The last factor is never below
/// per_byte: nothing beats the busiest link.
struct FitSegment {
  Bytes chunk_first{0};   ///< size / ranks of the smallest row that it was fitted to
  Bytes chunk_last{0};    ///< of the largest
  std::string algorithm;  ///< "" when the rows do not say
  std::string protocol;   ///< same
  Seconds launch;         ///< once, whatever the ranks
  Seconds hop_local;      ///< a step inside a machine
  Seconds hop_network;    ///< a step between machines
  double link_time = 1;   ///< time on the busiest link / its time at full rate, >= 0
  /// A byte of the size, on each rank, however many ranks there are; 0 between machines.
  Seconds local_pass;
  int rows = 0;  ///< that it was fitted to
};

/// How a collective's time goes with size, ranks and machines, learnt from tables of some of them.
/// Segments rise with size / ranks: protocols of more latency and more bandwidth take over where
/// (latency a step) * steps = size * (difference in time per byte), which for rings is at a size in
/// proportion to the ranks.
struct CollectiveFit {
  CollectiveKind op = CollectiveKind::all_reduce;
  HopClass hops = HopClass::nvlink;
  std::vector<int> ranks;  ///< counts that it was fitted to, rising
  std::vector<FitSegment> segments;
  double residual_p50 = 0;  ///< |fitted / measured - 1| over its rows, median
  double residual_p95 = 0;  ///< 95th percentile
};

/// The algorithm whose segments price a collective that the library runs by `algorithm`. For
/// numbers of ranks that the fit has not seen, that one: where a library changes algorithm does not
/// go with size / ranks. "" for the others, and where no segment has it: all segments count.
[[nodiscard]] std::string_view priced_as(const CollectiveFit& fit, int ranks,
                                         std::string_view algorithm);

/// The segment for a collective of this size: the one whose chunks hold size / ranks, else the
/// nearest by ratio (then the first).
/// @param algorithm  the segments of no other one count; "": all do
/// REQUIRES: the fit has such a segment.
[[nodiscard]] const FitSegment& segment_for(const CollectiveFit& fit, int ranks, Bytes size,
                                            std::string_view algorithm = {});

/// Time of the uncontended collective. Between the chunks of two segments it goes straight from the
/// last of the one to the first of the other.
/// @param algorithm  as in segment_for
/// REQUIRES: the fit has such a segment, size >= 0.
[[nodiscard]] Seconds fitted_time(const CollectiveFit& fit, const CollectiveShape& shape,
                                  Bytes size, std::string_view algorithm = {});

}  // namespace gradwire
