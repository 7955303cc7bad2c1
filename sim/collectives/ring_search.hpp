#pragma once

#include <cstdint>
#include <vector>

namespace gradwire {

/// The NVLinks among the GPUs that take part, as a plain matrix; GPUs count from 0.
struct LaneMatrix {
  int gpus = 0;
  std::vector<int> lanes;  ///< [a * gpus + b]: NVLinks from a to b, each good for one ring
  std::vector<int> ports;  ///< NVLinks of each GPU in one direction, what all its rings share
};

/// GPUs in the order in which a ring passes them.
using GpuOrder = std::vector<int>;

/// Where a path may begin and end. The same GPU twice where there is only one.
struct PathEnds {
  int first = 0;
  int last = 0;
};

/// Extensions of a ring by one GPU that a search tries before it settles for one ring less. Our
/// choice: 2 to 3 ms, and 35 times the 144 that the 8 GPUs of a DGX-1V take.
constexpr std::int64_t ring_search_effort = 5'000;

/// As many closed rings over all GPUs as the lanes give, each direction of each lane used at most
/// once. A ring starts at GPU 0. Deterministic. Finds the most there are unless the effort runs
/// out.
/// @return empty when there is no ring (or fewer than 2 GPUs).
[[nodiscard]] std::vector<GpuOrder> find_rings(const LaneMatrix& matrix);

/// One path over all GPUs for each entry of `ends`, lane-disjoint among each other.
/// @param ends  of each path, the allowed pairs, the best first.
/// @return one path an entry, in its order; when not all can be had, of as many entries from the
///         front as can.
[[nodiscard]] std::vector<GpuOrder> find_paths(const LaneMatrix& matrix,
                                               const std::vector<std::vector<PathEnds>>& ends);

}  // namespace gradwire
