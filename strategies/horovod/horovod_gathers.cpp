#include "strategies/horovod/horovod_gathers.hpp"

#include <utility>

#include "strategies/horovod/horovod_negotiation.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Indices into exchanges().
enum GatherExchange : int { parts_to_host, across_ranks, all_to_gpu };

HostWork host_work(Seconds time, const char* label) {
  return {.time = time, .label = label};
}

}  // namespace

HorovodGathers::HorovodGathers(const HorovodOptions& options, JobView job, HorovodMachines machines)
    : options_(options), job_(std::move(job)), machines_(std::move(machines)) {}

bool HorovodGathers::hierarchical() const {
  // "size != local_size": operations.cc
  return options_.gather == HorovodGather::mpi_hierarchical && job_.machines > 1;
}

Operations HorovodGathers::stages(Bytes size, const std::vector<TensorId>& tensors, bool fused,
                                  int exchange) const {
  const Seconds copy_of_all = size / options_.host_copy_rate;
  const Seconds copy_of_own = 1.0 / job_.world_size * copy_of_all;
  const auto message = [&](GatherExchange which, const char* label) {
    return Messages{.exchange = exchange + which, .size = size, .tensors = tensors, .label = label};
  };
  Operations stages = {message(parts_to_host, "copy to the host")};
  if (hierarchical()) {
    const Seconds barrier = barrier_time(options_, job_);
    stages.emplace_back(host_work(copy_of_own + barrier, "copy into the shared buffer"));
    stages.emplace_back(message(across_ranks, "MPI all-gather across"));
    stages.emplace_back(host_work(copy_of_all + 2 * barrier, "copy out of the shared buffer"));
  } else {
    if (fused) stages.emplace_back(host_work(copy_of_own, "copy into fusion buffer"));
    stages.emplace_back(message(across_ranks, "MPI all-gather"));
    if (job_.machines == 1) {
      stages.emplace_back(host_work(copy_of_all - copy_of_own, "copy between ranks"));
    }
    if (fused) stages.emplace_back(host_work(copy_of_all, "copy out of fusion buffer"));
  }
  stages.emplace_back(message(all_to_gpu, "copy to the GPU"));
  return stages;
}

std::vector<Exchange> HorovodGathers::exchanges() const {
  const int ranks = job_.world_size;
  Exchange down{.name = "parts to host", .phases = {{}}};
  Exchange up{.name = "all parts to GPU", .phases = {{}}};
  for (const int rank : all_ranks(job_)) {
    down.phases[0].push_back({gpu_of(rank), host_of(rank), 1.0 / ranks});
    up.phases[0].push_back({host_of(rank), gpu_of(rank), 1.0});
  }
  Exchange across{.name = "MPI all-gather", .phases = {{}}};
  if (hierarchical()) {
    const double machines = job_.machines;
    across.phases[0] = machines_.ring((machines - 1) / machines);
    across.connections = machines_.cross_communicators();
    across.startup = (machines - 1) * job_.message_latency;
  } else {
    for (const int rank : all_ranks(job_)) {
      across.phases[0].push_back(
          {host_of(rank), host_of((rank + 1) % ranks), (ranks - 1.0) / ranks});
    }
    const Seconds step = job_.machines > 1 ? job_.message_latency : options_.local_latency;
    across.startup = (ranks - 1.0) * step;
  }
  return {std::move(down), std::move(across), std::move(up)};
}

}  // namespace gradwire
