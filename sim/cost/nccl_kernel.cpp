#include "sim/cost/nccl_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

constexpr int blocks_most = 32;

/// What is read of a rank's own data and written as its result / size of the collective.
double own_traffic(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv:
      return 2;
    case CollectiveKind::reduce_scatter:
      return 1 + 1.0 / ranks;
    default:
      return 1;
  }
}

/// Bytes in a buffer for each that is sent.
double with_flags(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return 2;
    case NcclProtocol::ll128:
      return 128.0 / 120;
    default:
      return 1;
  }
}

}  // namespace

KernelUse nccl_kernel(const NcclSystem& system, const NcclQuestion& question,
                      std::optional<int> channels_max, int channels_min) {
  const bool is_switch = question.algorithm == NcclAlgorithm::nvls;
  const int laid = is_switch ? system.channels : 2 * system.channels;
  const double buffered = 2 * bus_factor(question.kind, system.ranks);
  const double traffic =
      buffered * with_flags(question.protocol) + own_traffic(question.kind, system.ranks);
  return {.blocks = std::max(std::min(laid, channels_max.value_or(blocks_most)), channels_min),
          .traffic = Bytes{std::llround(traffic * static_cast<double>(question.bytes))}};
}

}  // namespace gradwire
