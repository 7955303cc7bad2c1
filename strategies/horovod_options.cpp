#include "strategies/horovod_options.hpp"

#include <fmt/format.h>

#include "strategies/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// The oldest release described here.
constexpr Release oldest_release{0, 16};
/// 5 ms -> 1 ms and 64 MiB -> 128 MiB (CHANGELOG 0.21.0, pull request 2468).
constexpr Release short_cycles_from{0, 21};
constexpr std::int64_t streams_max = 16;
constexpr std::int64_t capacity_max = 1'000'000;
constexpr Bytes old_fusion_threshold{64LL * 1024 * 1024};
constexpr Seconds old_cycle_time{5e-3};

Release read_version(Knobs& knobs, const std::string& fallback) {
  const std::string text =
      knobs.text("version", fallback, "Horovod release that is followed, from 0.16 on");
  const auto release = parse_release(text);
  if (!release || *release < oldest_release) {
    knobs.refuse("version",
                 fmt::format("'version' is '{}'; expected a Horovod release from 0.16 on, such as "
                             "0.28",
                             text));
  }
  return *release;
}

void read_costs(Knobs& knobs, HorovodOptions& options) {
  options.hook_time = knobs.time("hook_time", options.hook_time,
                                 "Python of a tensor's hook and of the enqueueing; assumed");
  options.request_time = knobs.time("request_time", options.request_time,
                                    "rank 0 parses and counts a request of one rank (Controller::"
                                    "IncrementTensorCount); assumed");
  options.local_latency = knobs.time("local_latency", options.local_latency,
                                     "one-way latency of MPI through shared memory; assumed");
}

}  // namespace

HorovodOptions read_horovod(Knobs& knobs, const std::string& release) {
  HorovodOptions options;
  options.version = read_version(knobs, release);
  if (options.version < short_cycles_from) {
    options.fusion_threshold = old_fusion_threshold;
    options.cycle_time = old_cycle_time;
  }
  options.fusion_threshold =
      knobs.size("fusion_threshold", options.fusion_threshold,
                 "HOROVOD_FUSION_THRESHOLD, operations.cc:519; 64 MiB before 0.21", Bytes{0});
  options.cycle_time = knobs.time("cycle_time", options.cycle_time,
                                  "HOROVOD_CYCLE_TIME, operations.cc:527; 5 ms before 0.21");
  options.cache_capacity =
      knobs.count("cache_capacity", options.cache_capacity, 0, capacity_max,
                  "HOROVOD_CACHE_CAPACITY in responses, global_state.h:89; 0: no cache");
  options.num_nccl_streams = static_cast<int>(knobs.count(
      "num_nccl_streams", options.num_nccl_streams, 1, streams_max, "HOROVOD_NUM_NCCL_STREAMS"));
  const bool hierarchical =
      knobs.yes("hierarchical_allreduce", false, "HOROVOD_HIERARCHICAL_ALLREDUCE");
  const bool torus = knobs.yes("torus_allreduce", false, "HOROVOD_TORUS_ALLREDUCE");
  const bool adasum = knobs.yes("adasum", false, "op=hvd.Adasum of DistributedOptimizer");
  if (static_cast<int>(hierarchical) + static_cast<int>(torus) + static_cast<int>(adasum) > 1) {
    knobs.refuse(torus ? "torus_allreduce" : "adasum",
                 "two ways of reducing; expected one of hierarchical_allreduce, torus_allreduce, "
                 "adasum");
  }
  if (hierarchical) options.reduction = HorovodReduction::hierarchical;
  if (torus) options.reduction = HorovodReduction::torus;
  if (adasum) options.reduction = HorovodReduction::adasum;
  read_costs(knobs, options);
  ConditionalKnobs host(knobs);
  options.host_sum_rate = host.rate(
      "host_sum_rate", options.host_sum_rate,
      "of hierarchical and Adasum: a core adds floats; our measurement, sim/core/host_cpu.hpp");
  if (!hierarchical && !adasum) host.refuse_without("hierarchical_allreduce: true");
  return options;
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
      knobs.choice("over", "library", known,
                   "the collective library alone, or Horovod's background thread without fusion, "
                   "cache and cycle as in ddl-benchmarks") == "horovod";
  ConditionalKnobs horovods(knobs);
  const HorovodOptions options = read_unfused_horovod(horovods);
  if (horovod) return options;
  horovods.refuse_without("over: horovod");
  return std::nullopt;
}

}  // namespace gradwire
