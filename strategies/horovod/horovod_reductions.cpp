#include "strategies/horovod/horovod_reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// One batched kernel copies this many tensors at most, each to a multiple of this many bytes:
/// BATCHED_D2D_CAPACITY, BATCHED_D2D_PADDING, cuda_kernels.h.
constexpr std::int64_t batch_capacity = 160;
constexpr std::int64_t batch_padding = 16;
/// All-gathers are copied by batches too (CHANGELOG 0.26.0, pull request 3590).
constexpr Release batched_gathers_from{0, 26};
/// The core scales the buffer; before, the framework divides each tensor.
constexpr Release buffer_scaled_from{0, 21};
/// Scaling is part of the batched copies (CHANGELOG 0.23.0, pull request 2973).
constexpr Release fused_scaling_from{0, 23};
/// The threshold divides evenly on any equal machines, not for hierarchical all-reduce alone (with
/// Adasum, 0.19.0).
constexpr Release even_thresholds_from{0, 19};
/// FUSION_BUFFER_ATOMIC_UNIT, common.h: elements.
constexpr std::int64_t atomic_unit = 64;
constexpr std::int64_t double_size = 8;

/// Indices into exchanges() of what reduces on hosts.
enum HostExchange : int { to_host, across, to_gpu };

/// Adasum reads both halves for the dot products and again to combine them (adasum.h,
/// ComputeDotAndNormSqrds and ScaledAdd).
constexpr double adasum_passes = 2;

constexpr const char* copy_in = "copy into fusion buffer";
constexpr const char* copy_out = "copy out of fusion buffer";
constexpr const char* average = "average";

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

HorovodReductions::HorovodReductions(const HorovodOptions& options, const JobView& job)
    : options_(options),
      job_(job),
      reduction_(options.reduction),
      machines_(job),
      gathers_(options, job, machines_) {
  if (reduction_ == HorovodReduction::adasum) {
    if (!std::has_single_bit(static_cast<unsigned>(job.machines))) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::strategy,
          fmt::format("Adasum halves its vectors between machines, and there are {}; expected a "
                      "power of two",
                      job.machines));
    }
  } else if (job.machines == 1) {
    reduction_ = HorovodReduction::flat;
  }
  // The torus needs equal machines; Horovod then stays with the ring.
  if (reduction_ == HorovodReduction::torus && !machines_.homogeneous) {
    reduction_ = HorovodReduction::flat;
  }
  remainders_ = std::ranges::any_of(job.tensors, [&](const TensorInfo& tensor) {
    return tensor.elements % machines_.local_ranks != 0;
  });
}

std::int64_t HorovodReductions::rounding() const {
  return batches_copies(options_) ? batch_padding : 1;
}

Bytes HorovodReductions::threshold() const {
  const bool even =
      options_.version >= even_thresholds_from || reduction_ == HorovodReduction::hierarchical;
  if (!machines_.homogeneous || !even) return options_.fusion_threshold;
  return Bytes{rounded_up(options_.fusion_threshold.count(),
                          machines_.local_ranks * double_size * atomic_unit)};
}

bool HorovodReductions::blocks(RequestKind kind) const {
  if (kind == RequestKind::gather) {
    return options_.gather != HorovodGather::nccl && job_.world_size > 1;
  }
  return reduction_ == HorovodReduction::hierarchical || reduction_ == HorovodReduction::adasum;
}

DeviceWork HorovodReductions::copy(Bytes size, std::int64_t tensors, bool batched,
                                   const char* label) {
  const std::int64_t kernels = batched ? (tensors + batch_capacity - 1) / batch_capacity : tensors;
  return {.traffic = 2 * size,
          .kernels = static_cast<int>(kernels),
          .label = label,
          .stream = DeviceStream::side};
}

Operations HorovodReductions::stages(std::span<const HorovodRequest> requests, int stream) const {
  Collective common{.tensors = {},
                    .label = fmt::format("response of {} tensors", requests.size()),
                    .ready = Collective::Ready::at_once,
                    .stream = stream};
  Bytes size{0};
  Bytes padded{0};
  for (const auto& request : requests) {
    size += request.size;
    padded += Bytes{rounded_up(request.size.count(), rounding())};
    common.tensors.insert(common.tensors.end(), request.tensors.begin(), request.tensors.end());
  }
  const int tensors = static_cast<int>(requests.size());
  if (requests.front().kind == RequestKind::gather) return gather(size, tensors, common);
  const bool fused = tensors > 1;
  const bool batched = batches_copies(options_);
  Operations stages;
  if (fused) stages.emplace_back(copy(size, tensors, batched, copy_in));
  reduce(stages, fused ? padded : size, fused, common);
  if (fused) stages.emplace_back(copy(size, tensors, batched, copy_out));
  const bool averages = reduction_ != HorovodReduction::adasum;
  const bool while_copying = fused && batched && options_.version >= fused_scaling_from;
  if (averages && !while_copying) {
    const bool each = options_.version < buffer_scaled_from;
    stages.emplace_back(copy(size, each ? tensors : 1, false, average));
  }
  return stages;
}

Operations HorovodReductions::gather(Bytes size, int tensors, const Collective& common) const {
  const bool fused = tensors > 1;
  if (blocks(RequestKind::gather)) {
    const int first = static_cast<int>(host_exchanges().size());
    return gathers_.stages(size, common.tensors, fused, first);
  }
  const bool batched = batches_copies(options_) && options_.version >= batched_gathers_from;
  const std::int64_t ranks = job_.world_size;
  Operations stages;
  if (fused) stages.emplace_back(copy(Bytes{size.count() / ranks}, tensors, batched, copy_in));
  Collective all = common;
  all.kind = CollectiveKind::all_gather;
  all.size = size;
  stages.emplace_back(std::move(all));
  // Each rank's part of each tensor lies by itself.
  if (fused) stages.emplace_back(copy(size, ranks * tensors, batched, copy_out));
  return stages;
}

HorovodReductions::Split HorovodReductions::split_of(Bytes buffer, bool fused) const {
  if (!machines_.homogeneous) return {.scattered = Bytes{0}, .rest = buffer, .part = buffer};
  const std::int64_t local = machines_.local_ranks;
  const std::int64_t size = job_.element_size;
  std::int64_t elements = (buffer.count() + size - 1) / size;
  if (fused) elements = rounded_up(elements, local * atomic_unit);
  const std::int64_t rest = elements % local;
  return {.scattered = Bytes{(elements - rest) * size},
          .rest = Bytes{rest * size},
          .part = Bytes{(elements / local + rest) * size}};
}

void HorovodReductions::within(Operations& stages, const Split& split, const Collective& common,
                               CollectiveKind scattered, CollectiveKind rest) {
  Collective part = common;
  part.communicator = families::node;
  if (split.scattered > Bytes{0}) {
    part.kind = scattered;
    part.size = split.scattered;
    stages.emplace_back(part);
    part.tensors.clear();  // the rest is no response of its own
  }
  if (split.rest > Bytes{0}) {
    part.kind = rest;
    part.size = split.rest;
    stages.emplace_back(std::move(part));
  }
}

void HorovodReductions::reduce(Operations& stages, Bytes buffer, bool fused,
                               const Collective& common) const {
  if (reduction_ == HorovodReduction::flat) {
    Collective all = common;
    all.size = buffer;
    stages.emplace_back(std::move(all));
    return;
  }
  const Split split = split_of(buffer, fused);
  within(stages, split, common, CollectiveKind::reduce_scatter, CollectiveKind::reduce);
  if (reduction_ == HorovodReduction::torus) {
    Collective cross = common;
    cross.communicator = families::across;
    cross.size = split.part;
    stages.emplace_back(std::move(cross));
  } else {
    across_hosts(stages, split.part, common);
  }
  within(stages, split, common, CollectiveKind::all_gather, CollectiveKind::broadcast);
}

void HorovodReductions::across_hosts(Operations& stages, Bytes part,
                                     const Collective& common) const {
  const Bytes size = machines_.cross_communicators() * part;
  const auto message = [&](HostExchange exchange, const char* label) {
    return Messages{.exchange = exchange, .size = size, .tensors = common.tensors, .label = label};
  };
  stages.emplace_back(message(to_host, "copy to the host"));
  if (job_.machines > 1) {
    stages.emplace_back(message(across, "MPI all-reduce"));
    // Each local rank's process adds up its own part.
    const double others = 1.0 - 1.0 / static_cast<double>(job_.machines);
    const double passes = reduction_ == HorovodReduction::adasum ? adasum_passes : 1;
    stages.emplace_back(HostWork{.time = passes * others * (part / options_.host_sum_rate),
                                 .label = "sum on the host"});
  }
  stages.emplace_back(message(to_gpu, "copy to the GPU"));
}

std::vector<CollectiveUse> HorovodReductions::collectives() const {
  if (reduction_ == HorovodReduction::flat) {
    return {{CollectiveKind::all_reduce, families::all}};
  }
  std::vector<CollectiveUse> uses;
  if (machines_.homogeneous) {
    uses = {{CollectiveKind::reduce_scatter, families::node},
            {CollectiveKind::all_gather, families::node}};
  }
  if (!machines_.homogeneous || remainders_) {
    uses.push_back({CollectiveKind::reduce, families::node});
    uses.push_back({CollectiveKind::broadcast, families::node});
  }
  if (reduction_ == HorovodReduction::torus) {
    uses.push_back({CollectiveKind::all_reduce, families::across});
  }
  return uses;
}

std::vector<Exchange> HorovodReductions::exchanges() const {
  auto all = host_exchanges();
  if (blocks(RequestKind::gather)) std::ranges::move(gathers_.exchanges(), std::back_inserter(all));
  return all;
}

std::vector<Exchange> HorovodReductions::host_exchanges() const {
  if (!blocks()) return {};
  Exchange down{.name = "to host", .phases = {{}}};
  for (const auto& [machine, ranks] : machines_.ranks) {
    for (const int rank : ranks) {
      if (!machines_.homogeneous && rank != ranks.front()) continue;
      const double share = 1.0 / machines_.cross_communicators();
      down.phases[0].push_back({gpu_of(rank), host_of(rank), share});
    }
  }
  Exchange up = reversed(down, "to GPU");
  if (job_.machines == 1) return {down, Exchange{.name = "across", .phases = {}}, up};
  return {down, reduction_ == HorovodReduction::adasum ? host_halving() : host_ring(), up};
}

/// All local ranks' rings run at once over the same cables: together they carry 2 (n-1)/n of the
/// buffer from each machine to the next, in 2 (n-1) steps.
Exchange HorovodReductions::host_ring() const {
  const double machines = job_.machines;
  return {.name = "MPI ring",
          .phases = {machines_.ring(2 * (machines - 1) / machines)},
          .connections = machines_.cross_communicators(),
          .startup = 2 * (machines - 1) * job_.message_latency};
}

/// Level k exchanges 2^-(k+1) of the vector with the machine 2^k away, and sums three dot products
/// over the 2^(k+1) machines that share the vector, k + 1 latencies; then the way back.
Exchange HorovodReductions::host_halving() const {
  const auto first = machines_.leaders();
  const int levels = rounds_of(job_.machines);
  Exchange halving{.name = "Adasum", .phases = {}, .connections = machines_.cross_communicators()};
  double share = 1;
  for (int level = 0; level < levels; ++level) {
    share /= 2;
    std::vector<Message> phase;
    for (std::size_t m = 0; m < first.size(); ++m) {
      phase.push_back({host_of(first[m]), host_of(first[m ^ (std::size_t{1} << level)]), share});
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
