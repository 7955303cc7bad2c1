#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/exactness.hpp"
#include "sim/core/warning.hpp"

namespace gradwire {

/// The parts of an iteration on one rank; they add up to it. Names of `breakdown_s`.
enum class Part : std::uint8_t {
  forward,
  backward,
  optimizer,
  overlap_slowdown,
  exposed_communication,
  encode_decode,
  copies,
  host,
  straggler_wait,
  other
};
constexpr std::array<std::string_view, 10> part_names = {
    "forward",       "backward", "optimizer", "overlap_slowdown", "exposed_communication",
    "encode_decode", "copies",   "host",      "straggler_wait",   "other"};
using Breakdown = std::array<double, part_names.size()>;  ///< seconds

/// A bar of the timeline.
struct Span {
  std::string resource;  ///< "compute", "copy", "communication", "host"
  std::string worker;    ///< "ranks 0-15 (slowest: 7)"; one row group each
  std::string name;
  double start = 0;     ///< seconds since the start of the run
  double duration = 0;  ///< seconds
  std::int64_t bytes = 0;
  std::vector<std::string> tensors;
  std::string cause;  ///< what it waited for, "" when nothing
};

/// How busy a link was.
struct LinkReport {
  std::string name;
  double utilisation = 0;  ///< share of capacity while measured, 0..1
  double bytes = 0;        ///< an iteration
};

/// Why a prediction may be off, and by how much of its median iteration either way.
struct Doubt {
  /// profile | spread | coding | several_gpus | machines | communication | hidden_communication |
  /// host
  std::string name;
  double low = 0;
  double high = 0;
  std::string width;  ///< that they are of, by its name in doubt_widths; "": of none
  double of = 0;      ///< what the width is multiplied with: a share of the iteration
};

/// Bytes on a rank's GPU: the most of each part, and of all together. Without libraries'
/// workspaces.
struct RankMemory {
  double weights = 0;      ///< and their copies in the type of mixed precision
  double gradients = 0;    ///< that grow while backward frees activations
  double optimizer = 0;    ///< its state, and weights in fp32 where the model's are not
  double activations = 0;  ///< kept for backward, of all layers but the loss
  double logits = 0;       ///< what the loss keeps
  double gathered = 0;     ///< other ranks' parameters
  /// What the optimizer's step makes and frees, where tensors are most then; else 0.
  double step = 0;
  double buffers = 0;    ///< that gradients travel in
  double allocated = 0;  ///< the most of tensors at once
  /// Of what was freed, that the allocator keeps in pieces which the next tensors do not fit.
  double slack = 0;
  double context = 0;        ///< of the driver: kernels, stacks
  double peak = 0;           ///< all parts: tensors, slack and context
  double capacity = 0;       ///< of the GPU; 0: unknown
  double host = 0;           ///< in the host's memory, of this rank
  double host_capacity = 0;  ///< its part of that, where ranks share it evenly; 0: unknown
};

/// Coding that is counted from its kernels, or extended beyond what was measured, may take so many
/// times what is said, or one of so many. What was measured is apart from its count by as much: a
/// DGC of 2^20 elements takes 2.4 times it (Espresso's figures), signs by one fused kernel a
/// quarter.
constexpr double coding_factor = 2.5;

/// What a prediction took of this machine.
struct EngineCost {
  double plan_s = 0;       ///< all but events: strategy, patterns, classes, summing up
  double run_s = 0;        ///< from the first event to the last, of each run
  double total_s = 0;      ///< both
  double peak_memory = 0;  ///< bytes of the process, the most until then
  int iterations_run = 0;  ///< warm-up included; the others repeat them and were counted
};

/// What one simulated run gives; reporters read nothing else.
struct RunResult {
  int world_size = 0;
  int batch_per_gpu = 0;
  int micro_batches = 1;
  int model_ranks = 1;  ///< that one replica of the model is split over
  /// The profile's own, without communication; of several types of GPUs that of their mean rate.
  double single_gpu_iteration_s = 0;
  /// Seconds of every measured iteration on every rank, pooled as the benchmark pools them; one
  /// entry a (iteration, rank group) with its count of ranks.
  std::vector<double> samples;
  std::vector<double> sample_weight;
  std::vector<double> iteration_s;  ///< slowest rank of each measured iteration
  /// Of each asynchronous worker all iterations, those of the warm-up first.
  std::vector<std::vector<double>> worker_iteration_s;
  Breakdown breakdown{};  ///< of the slowest rank, mean over iterations
  /// The same of the rank whose compute takes the median time; of asynchronous workers
  /// nothing: `breakdown` is their mean.
  std::optional<Breakdown> breakdown_median;
  double spread_low = 0;  ///< relative, the prediction's lower bound is p50 * (1 - spread_low)
  double spread_high = 0;
  std::vector<Doubt> doubts;  ///< that the spread is made of, widest first
  double profile_error = 0;   ///< how much longer the profile's compute times may be, relative
  double cost_error = 0;      ///< the same of its collectives' times; 0: there are none
  /// Seconds of an iteration that wait for coding whose time is not measured: see coding_factor.
  double coding_estimate_s = 0;
  int collectives = 0;              ///< and messages, per iteration on average
  std::int64_t bytes_per_rank = 0;  ///< sent by a rank per iteration, the most of any
  double communication_busy_s = 0;  ///< a collective moves data, per iteration
  double overlap_fraction = 0;      ///< of it hidden behind compute, 0..1
  /// Of an iteration's collectives and messages those that took longer than uncontended, since they
  /// shared links with others: their bytes on the wire, and how much longer they took, all
  /// together.
  double contended_bytes = 0;
  double contended_s = 0;
  /// Updates of others between a worker's read of the model and its own; synchronous: nothing.
  std::optional<double> staleness;
  Exactness exactness = Exactness::exact;
  /// Operations of the model a sample, forward and backward; 0: nobody counted them.
  double model_flops = 0;
  double recomputed_flops = 0;  ///< and those that are done again
  double peak_flops = 0;        ///< of one GPU in the profile's type; 0: unknown, or several types
  int tokens_per_sample = 0;    ///< 0: samples are no text
  double idle_ranks = 0;        ///< that had run out of inputs; mean over the iterations
  /// Whether one GPU alone could hold what the whole model takes; where it could not, no efficiency
  /// is shown. True where the activations are unknown.
  bool one_gpu_fits = true;
  std::optional<RankMemory> memory;  ///< where the activations are known
  std::vector<LinkReport> links;     ///< busiest first, at most 20
  std::vector<Warning> warnings;
  std::vector<Span> spans;  ///< of the traced iteration
  std::string profile_source;
  std::string framework;  ///< whose host times the profile has; "": as recorded
  std::string fidelity;
  std::string fidelity_why;
  std::string engine_solver;   ///< that shared the links: "simgrid", "gradwire"; "none": no links
  std::string engine_simgrid;  ///< its version, where it ran
  EngineCost engine_cost;
  std::size_t engine_links = 0;
  std::size_t engine_flows = 0;
  std::size_t engine_link_classes = 0;
  std::size_t engine_flow_classes = 0;
};

/// Samples that a replica of the model processes in one iteration: a rank where it is not split.
[[nodiscard]] inline std::int64_t samples_per_replica(const RunResult& result) {
  return std::int64_t{result.batch_per_gpu} * result.micro_batches;
}
/// Samples that the job processes in one iteration.
[[nodiscard]] inline std::int64_t global_batch(const RunResult& result) {
  return result.world_size / result.model_ranks * samples_per_replica(result);
}

}  // namespace gradwire
