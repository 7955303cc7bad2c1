#include "strategies/horovod_reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/core/refusal.hpp"
#include "strategies/job_places.hpp"

namespace gradwire {
namespace {

/// One kernel copies many tensors (CHANGELOG 0.21.0, pull request 2435), this many at most and at
/// multiples of this many bytes: BATCHED_D2D_CAPACITY, BATCHED_D2D_PADDING, cuda_kernels.h.
constexpr Release batched_copies_from{0, 21};
constexpr int batch_capacity = 160;
constexpr std::int64_t batch_padding = 16;
/// Scaling is part of the copies (CHANGELOG 0.23.0, pull request 2973).
constexpr Release fused_scaling_from{0, 23};

/// Indices into exchanges().
enum HostExchange : int { to_host, across, to_gpu };

/// Adasum reads both halves for the dot products and again to combine them (adasum.h,
/// ComputeDotAndNormSqrds and ScaledAdd).
constexpr double adasum_passes = 2;

}  // namespace

HorovodReductions::HorovodReductions(const HorovodOptions& options, const JobView& job)
    : options_(options), job_(job), reduction_(options.reduction) {
  for (int rank = 0; rank < static_cast<int>(job.machine_of.size()); ++rank) {
    machines_[job.machine_of[static_cast<std::size_t>(rank)]].push_back(rank);
  }
  for (const auto& [machine, ranks] : machines_) {
    local_ranks_ = std::max(local_ranks_, static_cast<int>(ranks.size()));
    homogeneous_ = homogeneous_ && ranks.size() == machines_.begin()->second.size();
  }
  if (reduction_ == HorovodReduction::adasum) {
    if (!std::has_single_bit(static_cast<unsigned>(job.machines))) {
      throw RefusedChoice(
          RefusedChoice::Key::strategy,
          fmt::format("Adasum halves its vectors between machines, and there are {}; expected a "
                      "power of two",
                      job.machines));
    }
  } else if (job.machines == 1) {
    reduction_ = HorovodReduction::flat;
  }
  // The torus needs equal machines; Horovod then stays with the ring.
  if (reduction_ == HorovodReduction::torus && !homogeneous_) reduction_ = HorovodReduction::flat;
}

std::int64_t HorovodReductions::rounding() const {
  return options_.version >= batched_copies_from ? batch_padding : 1;
}

bool HorovodReductions::blocks() const {
  return reduction_ == HorovodReduction::hierarchical || reduction_ == HorovodReduction::adasum;
}

DeviceWork HorovodReductions::copy(Bytes size, int tensors, const char* label) const {
  const bool batched = options_.version >= batched_copies_from;
  return {.traffic = 2 * size,
          .kernels = batched ? (tensors + batch_capacity - 1) / batch_capacity : tensors,
          .label = label,
          .stream = DeviceStream::side};
}

Operations HorovodReductions::stages(std::span<const HorovodRequest> requests, int stream) const {
  Collective common{.tensors = {},
                    .label = fmt::format("response of {} tensors", requests.size()),
                    .ready = Collective::Ready::at_once,
                    .stream = stream};
  Bytes size{0};
  for (const auto& request : requests) {
    size += request.size;
    common.tensors.insert(common.tensors.end(), request.tensors.begin(), request.tensors.end());
  }
  const int tensors = static_cast<int>(requests.size());
  const bool gathers = requests.front().kind == RequestKind::gather;
  const Bytes own = gathers ? Bytes{size.count() / job_.world_size} : size;
  Operations stages;
  if (tensors > 1) stages.emplace_back(copy(own, tensors, "copy into fusion buffer"));
  if (gathers) {
    common.kind = CollectiveKind::all_gather;
    common.size = size;
    stages.emplace_back(common);
    if (tensors > 1) stages.emplace_back(copy(size, tensors, "copy out of fusion buffer"));
    return stages;
  }
  reduce(stages, size, common);
  if (tensors > 1) stages.emplace_back(copy(size, tensors, "copy out of fusion buffer"));
  const bool averages = reduction_ != HorovodReduction::adasum;
  if (averages && (tensors == 1 || options_.version < fused_scaling_from)) {
    // A division of each tensor by the framework before the core learnt to scale its buffer.
    DeviceWork average = copy(size, 1, "average");
    if (options_.version < batched_copies_from) average.kernels = tensors;
    stages.emplace_back(std::move(average));
  }
  return stages;
}

void HorovodReductions::reduce(Operations& stages, Bytes size, const Collective& common) const {
  if (reduction_ == HorovodReduction::flat) {
    Collective all = common;
    all.size = size;
    stages.emplace_back(std::move(all));
    return;
  }
  Collective part = common;
  part.communicator = Communicator::node;
  part.kind = homogeneous_ ? CollectiveKind::reduce_scatter : CollectiveKind::reduce;
  part.size = size;
  stages.emplace_back(part);
  if (reduction_ == HorovodReduction::torus) {
    Collective cross = common;
    cross.communicator = Communicator::across;
    cross.size = Bytes{(size.count() + local_ranks_ - 1) / local_ranks_};
    stages.emplace_back(std::move(cross));
  } else {
    across_hosts(stages, size, common);
  }
  part.kind = homogeneous_ ? CollectiveKind::all_gather : CollectiveKind::broadcast;
  stages.emplace_back(std::move(part));
}

void HorovodReductions::across_hosts(Operations& stages, Bytes size,
                                     const Collective& common) const {
  const auto message = [&](HostExchange exchange, const char* label) {
    return Messages{.exchange = exchange, .size = size, .tensors = common.tensors, .label = label};
  };
  stages.emplace_back(message(to_host, "copy to the host"));
  if (job_.machines > 1) {
    stages.emplace_back(message(across, "MPI all-reduce"));
    // Each local rank's process adds up its own part.
    const Bytes part{size.count() / (homogeneous_ ? local_ranks_ : 1)};
    const double others = 1.0 - 1.0 / static_cast<double>(job_.machines);
    const double passes = reduction_ == HorovodReduction::adasum ? adasum_passes : 1;
    stages.emplace_back(HostWork{.time = passes * others * (part / options_.host_sum_rate),
                                 .label = "sum on the host"});
  }
  stages.emplace_back(message(to_gpu, "copy to the GPU"));
}

std::vector<CollectiveUse> HorovodReductions::collectives() const {
  switch (reduction_) {
    case HorovodReduction::flat:
      break;
    case HorovodReduction::torus:
      return {{CollectiveKind::reduce_scatter, Communicator::node},
              {CollectiveKind::all_reduce, Communicator::across},
              {CollectiveKind::all_gather, Communicator::node}};
    case HorovodReduction::hierarchical:
    case HorovodReduction::adasum:
      if (homogeneous_) {
        return {{CollectiveKind::reduce_scatter, Communicator::node},
                {CollectiveKind::all_gather, Communicator::node}};
      }
      return {{CollectiveKind::reduce, Communicator::node},
              {CollectiveKind::broadcast, Communicator::node}};
  }
  return {{CollectiveKind::all_reduce, Communicator::all}};
}

std::vector<Exchange> HorovodReductions::exchanges() const {
  if (!blocks()) return {};
  Exchange down{.name = "to host", .phases = {{}}};
  for (const auto& [machine, ranks] : machines_) {
    for (const int rank : ranks) {
      if (!homogeneous_ && rank != ranks.front()) continue;
      const double share = homogeneous_ ? 1.0 / local_ranks_ : 1.0;
      down.phases[0].push_back({gpu_of(rank), host_of(rank), share});
    }
  }
  Exchange up = reversed(down, "to GPU");
  if (job_.machines == 1) return {down, Exchange{.name = "across", .phases = {}}, up};
  return {down, reduction_ == HorovodReduction::adasum ? host_halving() : host_ring(), up};
}

namespace {

Message between_hosts(int from, int to, double share) {
  return {host_of(from), host_of(to), share};
}

}  // namespace

std::vector<int> HorovodReductions::leaders() const {
  std::vector<int> leaders;
  leaders.reserve(machines_.size());
  for (const auto& [machine, ranks] : machines_) leaders.push_back(ranks.front());
  return leaders;
}

/// All local ranks' rings run at once over the same cables: together they carry 2 (n-1)/n of the
/// buffer from each machine to the next, in 2 (n-1) steps.
Exchange HorovodReductions::host_ring() const {
  const auto first = leaders();
  const double machines = job_.machines;
  Exchange ring{.name = "MPI ring",
                .phases = {{}},
                .connections = homogeneous_ ? local_ranks_ : 1,
                .startup = 2 * (machines - 1) * job_.message_latency};
  for (std::size_t m = 0; m < first.size(); ++m) {
    ring.phases[0].push_back(
        between_hosts(first[m], first[(m + 1) % first.size()], 2 * (machines - 1) / machines));
  }
  return ring;
}

/// Level k exchanges 2^-(k+1) of the vector with the machine 2^k away, and sums three dot products
/// over the 2^(k+1) machines that share the vector, k + 1 latencies; then the way back.
Exchange HorovodReductions::host_halving() const {
  const auto first = leaders();
  const int levels = rounds_of(job_.machines);
  Exchange halving{.name = "Adasum", .phases = {}, .connections = homogeneous_ ? local_ranks_ : 1};
  double share = 1;
  for (int level = 0; level < levels; ++level) {
    share /= 2;
    std::vector<Message> phase;
    for (std::size_t m = 0; m < first.size(); ++m) {
      phase.push_back(between_hosts(first[m], first[m ^ (std::size_t{1} << level)], share));
    }
    halving.phases.push_back(std::move(phase));
    halving.startup += static_cast<double>(level + 1) * job_.message_latency;
  }
  for (int level = levels - 1; level >= 0; --level) {
    halving.phases.push_back(halving.phases[static_cast<std::size_t>(level)]);
  }
  return halving;
}

}  // namespace gradwire
