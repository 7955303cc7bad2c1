#include "sim/cost/nccl_peers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/cost/nccl_speeds.hpp"

namespace gradwire {
namespace {

int power_of_two_up(int value) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(value)));
}

}  // namespace

int nccl_channels_to_peer(const NcclConstants& constants, int ranks, int channels, double port) {
  constexpr int of_old = 2;
  constexpr int in_batch = 8;  // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
  constexpr int on_channel = 4;
  const double channel = constants.measured.peer_channel.count() / 1e9;
  int count = constants.peer_channels_by_port
                  ? power_of_two_up(std::max(1, static_cast<int>(std::ceil(port / channel))))
                  : of_old;
  const auto is_too_many = [&] {
    return constants.peer_channels_by_port ? count * ((ranks + in_batch - 1) / in_batch) > channels
                                           : count * ranks > channels * on_channel;
  };
  while (count > 1 && is_too_many()) count /= 2;
  return count;
}

double nccl_peers_moving(const NcclConstants& constants, const NcclSystem& system,
                         const NcclQuestion& question, const NcclFacts& facts) {
  if (system.machines == 1 || facts.sent_share == 0) return 0;
  const double port =
      nccl_planned_speed(1 / facts.planned_per_byte.count() / 1e9, constants.nominal_over_payload,
                         facts.capability_min, /*is_across=*/true);
  // Rings are laid by ports, and each again.
  const int rings = std::max(1, facts.ports_of_machine);
  const int laid = 2 * nccl_laid_channels(rings, port, facts.capability_min);
  const int channels = power_of_two_up(std::min(laid, system.channels_max));
  const int peers = question.kind == CollectiveKind::send_recv
                        ? 1
                        : system.ranks - system.ranks / system.machines;
  const int used =
      std::min(channels, peers * nccl_channels_to_peer(constants, system.ranks, channels, port));
  return facts.sent_share * static_cast<double>(question.bytes) / used /
         constants.measured.peer_channel.count() * us_per_second;
}

}  // namespace gradwire
