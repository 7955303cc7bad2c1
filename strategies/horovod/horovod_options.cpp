#include "strategies/horovod/horovod_options.hpp"

#include <fmt/format.h>

#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// The oldest release described here.
constexpr Release oldest_release{0, 16};
/// 5 ms -> 1 ms and 64 MiB -> 128 MiB (CHANGELOG 0.21.0, pull request 2468).
constexpr Release short_cycles_from{0, 21};
/// NCCL's all-gather (CHANGELOG 0.20.0, pull request 1952).
constexpr Release nccl_gathers_from{0, 20};
constexpr std::int64_t streams_max = 16;
constexpr std::int64_t capacity_max = 1'000'000;
constexpr Bytes old_fusion_threshold{64LL * 1024 * 1024};
constexpr Seconds old_cycle_time{5e-3};

Release read_version(Knobs& knobs, const std::string& fallback) {
  return read_release(knobs, "version", fallback, "Horovod", oldest_release,
                      "Horovod release that is followed, from 0.16 on");
}

/// A knob of a later release is refused, or warned of where a variable set it.
void needs_release(const Knobs& knobs, const std::string& name, const Release& version,
                   const Release& from) {
  if (version >= from || !knobs.given(name)) return;
  knobs.without_effect(name, fmt::format("expected a Horovod 'version' from {}.{} on",
                                         from.major_number, from.minor_number));
}

void read_costs(Knobs& knobs, HorovodOptions& options) {
  knobs.read("hook_time", options.hook_time,
             "Python of a tensor's hook and of the enqueueing; assumed");
  knobs.read("request_time", options.request_time,
             "rank 0 parses and counts a request of one rank (Controller::"
             "IncrementTensorCount); assumed");
  knobs.read("local_latency", options.local_latency,
             "one-way latency of MPI through shared memory; assumed");
  options.host_sum_rate = knobs.cpu().sum_rate;
  options.host_copy_rate = options.host_sum_rate;
}

}  // namespace

HorovodOptions read_horovod(Knobs& knobs, const std::string& release) {
  HorovodOptions options;
  options.version = read_version(knobs, release);
  if (options.version < short_cycles_from) {
    options.fusion_threshold = old_fusion_threshold;
    options.cycle_time = old_cycle_time;
  }
  knobs.read("fusion_threshold", options.fusion_threshold,
             "HOROVOD_FUSION_THRESHOLD, operations.cc:519; 64 MiB before 0.21", Bytes{0});
  knobs.read("cycle_time", options.cycle_time,
             "HOROVOD_CYCLE_TIME, operations.cc:527; 5 ms before 0.21");
  options.cache_capacity =
      knobs.count("cache_capacity", options.cache_capacity, 0, capacity_max,
                  "HOROVOD_CACHE_CAPACITY in responses, global_state.h:89; 0: no cache");
  options.num_nccl_streams = static_cast<int>(knobs.count(
      "num_nccl_streams", options.num_nccl_streams, 1, streams_max, "HOROVOD_NUM_NCCL_STREAMS"));
  options.batch_d2d_memcopies =
      knobs.yes("batch_d2d_memcopies", true,
                "HOROVOD_BATCH_D2D_MEMCOPIES, operations.cc; 0.21 or later: a kernel copies up to "
                "160 tensors of the fusion buffer");
  needs_release(knobs, "batch_d2d_memcopies", options.version, batched_copies_from);
  const bool groups_apart =
      knobs.yes("disable_group_fusion", false,
                "HOROVOD_DISABLE_GROUP_FUSION, controller.cc; 0.21 or later: a group, and a tensor "
                "that is in none, travels by itself");
  options.disable_group_fusion = groups_apart && options.version >= groups_from;
  needs_release(knobs, "disable_group_fusion", options.version, groups_from);
  const bool hierarchical =
      knobs.yes("hierarchical_allreduce", false, "HOROVOD_HIERARCHICAL_ALLREDUCE");
  const bool torus = knobs.yes("torus_allreduce", false, "HOROVOD_TORUS_ALLREDUCE");
  const bool adasum = knobs.yes("adasum", false, "op=hvd.Adasum of DistributedOptimizer");
  if (static_cast<int>(hierarchical) + static_cast<int>(torus) + static_cast<int>(adasum) > 1) {
    knobs.refuse(
        torus ? "torus_allreduce" : "adasum",
        "two algorithms of reducing; expected one of hierarchical_allreduce, torus_allreduce, "
        "adasum");
  }
  if (hierarchical) options.reduction = HorovodReduction::hierarchical;
  if (torus) options.reduction = HorovodReduction::torus;
  if (adasum) options.reduction = HorovodReduction::adasum;
  read_costs(knobs, options);
  return options;
}

void read_horovod_gathers(Knobs& knobs, HorovodOptions& options) {
  static const std::vector<std::string> known = {"nccl", "none"};
  const bool old = options.version < nccl_gathers_from;
  const std::string built = knobs.choice(
      "gpu_allgather", old ? "none" : "nccl", known,
      "HOROVOD_GPU_ALLGATHER when Horovod was built; none: through host memory, by MPI; 0.20 or "
      "later: nccl");
  if (old && built == "nccl") {
    knobs.refuse("gpu_allgather",
                 "NCCL's all-gather came with Horovod 0.20; expected 'none' or a later version");
  }
  ConditionalKnobs host(knobs);
  const bool hierarchical = host.yes("hierarchical_allgather", false,
                                     "HOROVOD_HIERARCHICAL_ALLGATHER, of MPI on several machines");
  if (built == "nccl") {
    host.refuse_without("gpu_allgather: none");
    return;
  }
  options.gather = hierarchical ? HorovodGather::mpi_hierarchical : HorovodGather::mpi;
}

HorovodOptions read_unfused_horovod(Knobs& knobs) {
  HorovodOptions options;
  options.version = read_version(knobs, horovod_of_2020);
  options.fusion_threshold = Bytes{0};
  options.cycle_time = Seconds{0};
  options.cache_capacity = 0;
  read_costs(knobs, options);
  return options;
}

std::optional<HorovodOptions> read_over_horovod(Knobs& knobs) {
  static const std::vector<std::string> known = {"library", "horovod"};
  const bool horovod =
      knobs.choice(
          "over", "library", known,
          "the collective library by itself, or Horovod's background thread without fusion, "
          "cache and cycle as in ddl-benchmarks") == "horovod";
  ConditionalKnobs horovods(knobs);
  const HorovodOptions options = read_unfused_horovod(horovods);
  if (horovod) return options;
  horovods.refuse_without("over: horovod");
  return std::nullopt;
}

}  // namespace gradwire
