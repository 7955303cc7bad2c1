#include "sim/cost/mpi.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/host_routes.hpp"
#include "sim/core/cluster.hpp"
#include "sim/cost/host_copies.hpp"

namespace gradwire {
namespace {

constexpr std::string_view segmented_ring = "segmented_ring";
constexpr std::string_view recursive_doubling = "recursive_doubling";

bool is_ring(std::string_view algorithm) {
  return algorithm == "ring" || algorithm == segmented_ring;
}

/// By what the algorithm is planned.
std::string_view planned_as(std::string_view algorithm) {
  return algorithm == segmented_ring ? "ring" : algorithm;
}

/// Are the bytes of this phase added up where they arrive?
bool adds_up(const Pattern& pattern, std::size_t phase) {
  if (!reduces_values(pattern.kind)) return false;
  const bool doubles = pattern.algorithm == recursive_doubling;
  if (pattern.kind == CollectiveKind::all_reduce && !doubles) {
    return phase < pattern.phases.size() / 2;
  }
  // Ranks beyond a power of two hand their data to others, and get the result back at the end.
  const bool folds = (doubles || pattern.algorithm == "halving_doubling") &&
                     !std::has_single_bit(static_cast<unsigned>(pattern.ranks));
  return !folds || phase + 1 < pattern.phases.size();
}

/// The bytes that a rank sends in one step of a phase.
struct Step {
  double bytes = 0;
  double messages = 1;
  bool adds = false;       ///< them up where they arrive
  double first_bytes = 0;  ///< of the bytes, those of first segments

  [[nodiscard]] double message() const { return bytes / messages; }
};

Step step_of(const MpiConstants& constants, const Phase& phase, Bytes size, bool adds,
             bool segmented) {
  double share = 0;
  for (const PatternFlow& flow : phase.flows) share = std::max(share, flow.share);
  Step step{.bytes = share * static_cast<double>(size.count()) / phase.steps, .adds = adds};
  const auto segment = static_cast<double>(constants.ring_segment.count());
  if (segmented) step.messages = std::max(1.0, std::ceil(step.bytes / segment));
  step.first_bytes =
      std::min(step.bytes, step.messages * static_cast<double>(constants.kernel_segment.count()));
  return step;
}

/// What a step takes beside its bytes on the links. @param copied  of its bytes.
Seconds step_time(const MpiOptions& options, const Step& step, double copied, Seconds latency) {
  const MpiConstants& constants = options.constants;
  Seconds time = copied * constants.copy_per_byte;
  if (step.bytes > static_cast<double>(constants.frame.count())) time += constants.long_message;
  if (step.message() >= static_cast<double>(constants.eager_max.count())) time += 2 * latency;
  if (step.adds) {
    const Bytes message{std::llround(step.message())};
    time += options.cpu.sum_slowdown(message) * (message / options.cpu.sum_rate);
  }
  return time;
}

/// What the steps of a phase take beside its bytes on the busiest link, which take `link_time`.
Seconds phase_time(const MpiOptions& options, const Phase& phase, const Step& step,
                   const PhaseWays& ways, double size, Seconds link_time, Seconds latency) {
  Seconds inside = phase.steps * step_time(options, step, step.bytes, latency);
  if (ways.across == Seconds{}) return inside;
  // While a second direction waits, nobody else may be on the link.
  const double follows = 1 - step.first_bytes / step.bytes;
  const Seconds waiting = follows * std::max(Seconds{}, size * ways.both_ways - link_time);
  const Seconds across =
      phase.steps * step_time(options, step, step.first_bytes, latency) + waiting;
  if (ways.inside == Seconds{}) return across;
  // Machines' own messages are copied while the network's pass.
  inside -= std::max(Seconds{}, link_time - size * ways.inside);
  return std::max(inside, across);
}

}  // namespace

MpiLibrary::MpiLibrary(std::shared_ptr<const Cluster> cluster, MpiOptions options)
    : cluster_(std::move(cluster)), options_(std::move(options)) {
  assert(cluster_);
  copy_rate_ = slowest_host_copy(*cluster_);
}

std::vector<std::string> MpiLibrary::all_reduce_algorithms() {
  return {std::string(recursive_doubling), "ring", std::string(segmented_ring), "rabenseifner"};
}

std::vector<Pattern> MpiLibrary::plan(CollectiveKind kind, const Placement& ranks) const {
  std::vector<std::string_view> names;
  if (kind == CollectiveKind::send_recv) {
    names = {"direct"};
  } else if (kind == CollectiveKind::all_reduce && !options_.all_reduce_algorithm.empty()) {
    names = {options_.all_reduce_algorithm};
  } else {
    names = mpi_algorithms(options_.decisions, kind, static_cast<int>(ranks.size()));
  }
  if (kind == CollectiveKind::all_reduce && std::ranges::any_of(names, is_ring)) {
    names.push_back(recursive_doubling);
  }
  std::vector<Pattern> patterns;
  for (const std::string_view name : names) {
    const std::string_view planned = planned_as(name);
    if (std::ranges::find(patterns, planned, &Pattern::algorithm) != patterns.end()) continue;
    patterns.push_back(
        planned == "ring"
            ? plan_rank_ring(kind, *cluster_, ranks)
            : through_host(plan_collective(kind, planned, *cluster_, ranks), *cluster_, ranks));
  }
  return patterns;
}

std::string_view MpiLibrary::algorithm_of(const Pattern& pattern, Bytes size) const {
  if (pattern.kind == CollectiveKind::send_recv) return "direct";
  const bool is_forced =
      pattern.kind == CollectiveKind::all_reduce && !options_.all_reduce_algorithm.empty();
  const std::string_view name =
      is_forced ? std::string_view(options_.all_reduce_algorithm)
                : mpi_algorithm(options_.decisions, pattern.kind, pattern.ranks, size);
  // Both rings give way to recursive doubling where a rank has no element for each other one
  // (ompi/mca/coll/base/coll_base_allreduce.c); elements are of 4 bytes.
  constexpr std::int64_t element = 4;
  const bool is_short = size.count() / element < pattern.ranks;
  return pattern.kind == CollectiveKind::all_reduce && is_ring(name) && is_short
             ? recursive_doubling
             : name;
}

CollectiveChoice MpiLibrary::choose(std::span<const Pattern> patterns, Bytes size) const {
  const std::string_view algorithm = algorithm_of(patterns.front(), size);
  const auto chosen = std::ranges::find(patterns, planned_as(algorithm), &Pattern::algorithm);
  assert(chosen != patterns.end());
  CollectiveChoice choice;
  choice.pattern = static_cast<std::size_t>(chosen - patterns.begin());
  choice.cost.algorithm = algorithm;
  choice.cost.source = "model";
  if (size.count() == 0) return choice;
  const PatternFacts& facts = facts_.of(*chosen, cluster_->links());
  Seconds& startup = choice.cost.startup;
  const MpiConstants& constants = options_.constants;
  startup = constants.entry;
  if (options_.tensors_on_gpu) {
    startup += host_copies(chosen->kind, chosen->ranks, size, copy_rate_);
  }
  const auto bytes = static_cast<double>(size.count());
  for (std::size_t i = 0; i < chosen->phases.size(); ++i) {
    const Phase& phase = chosen->phases[i];
    const Step step =
        step_of(constants, phase, size, adds_up(*chosen, i), algorithm == segmented_ring);
    startup += phase_time(options_, phase, step, facts.ways[i], bytes, bytes * facts.per_byte[i],
                          facts.latency_max());
  }
  return choice;
}

}  // namespace gradwire
