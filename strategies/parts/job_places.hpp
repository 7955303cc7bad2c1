#pragma once

#include <string>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// Memory of a rank's GPU.
[[nodiscard]] constexpr Endpoint gpu_of(int rank) {
  return {Endpoint::Place::gpu, rank};
}
/// Host memory of a rank's machine.
[[nodiscard]] constexpr Endpoint host_of(int rank) {
  return {Endpoint::Place::host, rank};
}

/// The machine of a rank; 0 where the job does not say.
[[nodiscard]] inline int machine_of(const JobView& job, int rank) {
  return job.machine_of.empty() ? 0 : job.machine_of[static_cast<std::size_t>(rank)];
}

/// Ranks 0 to world_size - 1.
[[nodiscard]] std::vector<int> all_ranks(const JobView& job);

/// The first rank of every machine that has ranks, in order.
[[nodiscard]] std::vector<int> first_ranks(const JobView& job);

/// Ranks of each machine of the job.
/// @param who  "hsdp shards", of the message. @throws UnsupportedConfiguration when machines
/// differ.
[[nodiscard]] int equal_ranks_of_machines(const JobView& job, const std::string& who);

/// Ranks in groups of `size` that follow each other; and those of the same place in each group.
/// REQUIRES: `size` divides the ranks.
[[nodiscard]] GroupFamily neighbours(const JobView& job, int size, const std::string& name);
[[nodiscard]] GroupFamily counterparts(const JobView& job, int size, const std::string& name);

/// The same messages the other way, the last phase first.
[[nodiscard]] Exchange reversed(Exchange exchange, std::string name);

/// Those of a strategy that makes one after the other, together.
[[nodiscard]] std::vector<Exchange> visited_exchanges(const Strategy& strategy);

/// Where the job's parameter servers stand: as the scenario says; else one on every machine of the
/// job, in the host memory that its ranks use.
[[nodiscard]] std::vector<Endpoint> server_places(const JobView& job);

}  // namespace gradwire
