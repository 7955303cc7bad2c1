#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire::test {

/// A core's, of profiles/libraries/cpu.yaml.
inline constexpr BytesPerSecond core_sum_rate{14.2e9};

/// A core that adds floats at `rate`, of whatever size.
inline HostCpu toy_cpu(BytesPerSecond rate) {
  return {
      .sum_rate = rate, .sum_rate_memory = rate, .cached_up_to = Bytes{1}, .memory_from = Bytes{2}};
}

/// A job whose tensors have these sizes, one layer each, gradients in reverse order.
inline JobView toy_job(const std::vector<std::int64_t>& elements, int micro_batches = 1) {
  JobView job;
  job.world_size = 4;
  job.micro_batches = micro_batches;
  job.cpu = toy_cpu(core_sum_rate);
  job.host_offload = {.operations_over_fused = 7,
                      .thread_rate = BytesPerSecond{25.7e9},
                      .reached_alone = 109.0 / 256,
                      .reached_unbound = 75.6 / 409.6,
                      .pageable_to_gpu = BytesPerSecond{7.7e9},
                      .pageable_to_host = BytesPerSecond{10.5e9}};
  job.gradient_order = reverse_registration_order(static_cast<int>(elements.size()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    job.tensors.push_back({fmt::format("t{}", i), elements[i], static_cast<int>(i)});
  }
  return job;
}

/// The same on machines: `machine_of` that of each rank.
/// @param servers  the machine of each parameter server
inline JobView toy_job_on(std::vector<int> machine_of, const std::vector<std::int64_t>& elements,
                          std::vector<int> servers = {}) {
  JobView job = toy_job(elements);
  job.world_size = static_cast<int>(machine_of.size());
  job.machines = 1 + *std::ranges::max_element(machine_of);
  job.machine_of = std::move(machine_of);
  job.server_machine = std::move(servers);
  job.layers.resize(elements.size());
  return job;
}

/// The sizes of the collectives among `operations`.
inline std::vector<std::int64_t> collective_sizes(const Operations& operations) {
  std::vector<std::int64_t> sizes;
  for (const auto& operation : operations) {
    if (const auto* collective = std::get_if<Collective>(&operation)) {
      sizes.push_back(collective->size.count());
    }
  }
  return sizes;
}

}  // namespace gradwire::test
