#include <algorithm>
#include <functional>
#include <numeric>

#include "strategies/parts/job_places.hpp"
#include "strategies/sharded/fsdp.hpp"

namespace gradwire {
namespace {

/// default_hooks.py divides before the reduction by a power of two near the root of the ranks, and
/// after it by the rest.
std::int64_t division_before(std::int64_t ranks) {
  std::int64_t factor = 1;
  while (ranks % factor == 0 && ranks > factor * factor) factor *= 2;
  return factor;
}

/// Is a division by the rest left?
bool divides_after(std::int64_t ranks) {
  return ranks > division_before(ranks);
}

}  // namespace

Fsdp::Fsdp(const FsdpOptions& options, const JobView& job)
    : options_(options), job_(job), unit_of_(job.tensors.size()), ranks_(job.world_size) {
  if (options.hybrid && job.world_size > 1) {
    ranks_ = equal_ranks_of_machines(job, "hsdp shards");
    replicas_ = job.world_size / ranks_;
  }
  if (job.world_size == 1) {
    options_.sharding = Sharding::none;
    options_.hybrid = false;
  }
  for (auto& unit : make_fsdp_units(job, options.wrap, options.unit_size)) {
    Unit& added = units_.emplace_back();
    static_cast<FsdpUnit&>(added) = std::move(unit);
    added.padded = (added.elements + ranks_ - 1) / ranks_ * ranks_;
    for (const TensorId id : added.tensors) {
      unit_of_[static_cast<std::size_t>(id)] = units_.size() - 1;
    }
  }
}

/// The root's parameters, and of the others so many units' as are gathered at once: the limiter's
/// two, or all that are kept to backward. Their gradients, before they are reduced, as many.
Holding Fsdp::holding() const {
  Holding held;
  const double shard = 1.0 / static_cast<double>(ranks_);
  if (options_.sharding == Sharding::none) return held;
  held.optimizer = shard;
  if (options_.sharding == Sharding::optimizer) return held;
  held.weights = shard;
  held.gradients = shard;
  std::vector<std::int64_t> units;
  std::int64_t root = 0;
  for (const Unit& unit : units_)
    (unit.root ? root = unit.padded : units.emplace_back(unit.padded));
  std::ranges::sort(units, std::greater());
  constexpr std::size_t limited = 2;
  const bool all = options_.sharding == Sharding::shard_grad_op || !options_.limit_all_gathers;
  if (!all) units.resize(std::min(units.size(), limited));
  const std::int64_t at_once = root + std::accumulate(units.begin(), units.end(), std::int64_t{0});
  held.gathered = Bytes{at_once * options_.param_bytes};
  const std::int64_t unreduced = units.empty() ? root : units.front();
  held.buffers = Bytes{unreduced * options_.reduce_bytes};
  return held;
}

Fsdp::Kernels Fsdp::preparation(const Unit& unit) const {
  const bool whole = options_.sharding == Sharding::none;
  const std::int64_t elements = whole ? unit.elements : unit.padded;
  Kernels kernels;
  if (options_.reduce_bytes != options_.param_bytes) {
    kernels.add(unit.elements * (options_.param_bytes + options_.reduce_bytes));
  }
  if (!whole && unit.padded != unit.elements) kernels.add(2 * elements * options_.reduce_bytes);
  if (division_before(ranks_) > 1) kernels.add(2 * elements * options_.reduce_bytes);
  return kernels;
}

Fsdp::Kernels Fsdp::division_of_shard(const Unit& unit) const {
  const std::int64_t elements = options_.sharding == Sharding::none ? unit.elements : shard(unit);
  Kernels kernels;
  if (divides_after(ranks_)) kernels.add(2 * elements * options_.reduce_bytes);
  if (options_.hybrid && division_before(replicas_) > 1) {
    kernels.add(2 * elements * options_.reduce_bytes);
  }
  return kernels;
}

Fsdp::Kernels Fsdp::finishing(const Unit& unit) const {
  const std::int64_t elements = options_.sharding == Sharding::none ? unit.elements : shard(unit);
  Kernels kernels;
  if (options_.hybrid && divides_after(replicas_))
    kernels.add(2 * elements * options_.reduce_bytes);
  if (options_.reduce_bytes != gradient_element_size) {
    kernels.add(elements * (options_.reduce_bytes + gradient_element_size));
  }
  return kernels;
}

std::vector<PlanGroup> Fsdp::plan(int /*iteration*/) const {
  std::vector<PlanGroup> plan;
  const auto add = [&](const Unit& unit, const Collective& collective, const char* note) {
    plan.push_back({unit.tensors, unit.elements, collective.size, note});
  };
  if (gathers()) {
    for (const Unit& unit : units_) add(unit, gather_of(unit), "all-gather before forward");
  }
  for (std::size_t u = units_.size(); u-- > 0;) {
    const Unit& unit = units_[u];
    if (options_.sharding == Sharding::full_shard && !unit.root) {
      add(unit, gather_of(unit), "all-gather before backward");
    }
    add(unit, reduction_of(unit),
        options_.sharding == Sharding::none ? "all-reduce" : "reduce-scatter");
    if (options_.hybrid) {
      plan.push_back({unit.tensors, shard(unit), Bytes{shard(unit) * options_.reduce_bytes},
                      "all-reduce of the shard across machines"});
    }
  }
  if (options_.sharding == Sharding::optimizer) {
    for (const Unit& unit : units_) add(unit, gather_of(unit), "all-gather after the step");
  }
  return plan;
}

}  // namespace gradwire
