#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/servers/byteps.hpp"
#include "tests/strategies/toy_job.hpp"

namespace gradwire::test {

using Texts = std::vector<std::string>;

/// Two machines of two GPUs each, servers on machines 2 and 3.
inline JobView two_machines(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 1, 1}, elements, {2, 3});
}

/// One tensor of 400 bytes on machines of so many GPUs each.
inline JobView machines_of(int machines, int gpus) {
  JobView job = toy_job({100});
  job.world_size = machines * gpus;
  job.machines = machines;
  for (int rank = 0; rank < job.world_size; ++rank) job.machine_of.push_back(rank / gpus);
  return job;
}

inline BytePsOptions no_host_costs() {
  BytePsOptions options;
  options.sum_rate = BytesPerSecond{1e9};
  options.loopback_bandwidth = BytesPerSecond{1e9};
  return options;
}

/// Exchanges 0 and 1 copy, then each server has its push and its pull.
inline std::string by_push(int server) {
  return " by " + std::to_string(2 + 2 * server);
}
inline std::string by_pull(int server) {
  return " by " + std::to_string(3 + 2 * server);
}

}  // namespace gradwire::test
