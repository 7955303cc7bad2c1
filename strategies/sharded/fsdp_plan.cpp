#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "sim/core/refusal.hpp"
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

/// DeepSpeed's sub_group_size (zero/config.py): elements whose step is taken at once.
constexpr std::int64_t step_elements_max = 1'000'000'000;

/// Is a division by the rest left?
bool divides_after(std::int64_t ranks) {
  return ranks > division_before(ranks);
}

/// Of FSDP2's first dimension.
std::int64_t rows_of(const TensorInfo& tensor) {
  return tensor.shape.empty() ? tensor.elements : tensor.shape.front();
}

}  // namespace

Fsdp::Fsdp(const FsdpOptions& options, const JobView& job)
    : options_(options), job_(job), unit_of_(job.tensors.size()), ranks_(job.world_size) {
  if (job.world_size == 1 && options.offload.what != Offload::parameters) {
    options_.sharding = Sharding::none;
    options_.hybrid = false;
  }
  form_groups();
  for (auto& unit : make_fsdp_units(job, options.wrap, options.unit_size)) {
    Unit& added = units_.emplace_back();
    static_cast<FsdpUnit&>(added) = std::move(unit);
    added.padded = added.gathered = padded(added);
    for (const TensorId id : added.tensors) {
      if (lies_across(job.tensor(id))) {
        added.across += job.tensor(id).elements;
        ++added.across_tensors;
      }
      const auto layer = static_cast<std::size_t>(job.tensor(id).layer);
      if (options.hooks_again && job.layers[layer].made_again) ++added.again;
      unit_of_[static_cast<std::size_t>(id)] = units_.size() - 1;
    }
  }
  if (options_.live && gathers()) plan_live();
  if (options.offload.what != Offload::none) host_.emplace(options.offload, job, out_);
}

void Fsdp::plan_live() {
  const auto up = [this](std::int64_t count) { return (count + ranks_ - 1) / ranks_ * ranks_; };
  std::int64_t rest = 0;  // of the units behind this one, which come twice before its backward
  for (std::size_t u = units_.size(); u-- > 0;) {
    Unit& unit = units_[u];
    std::int64_t persistent = 0;
    for (const TensorId id : unit.tensors) {
      const std::int64_t elements = job_.tensor(id).elements;
      if (elements <= options_.live->persistent) persistent += elements;
    }
    unit.gathered = up(unit.elements - persistent);
    unit.kept = 2 * rest < options_.live->reuse;
    persistent_ += persistent;
    rest += unit.elements;
  }
  persistent_ = up(persistent_);
}

std::int64_t Fsdp::live_at_once() const {
  std::int64_t kept = 0;
  std::int64_t largest = 0;
  std::int64_t total = 0;
  for (const Unit& unit : units_) {
    if (unit.root) continue;
    total += unit.gathered;
    if (unit.kept) kept += unit.gathered;
    largest = std::max(largest, unit.gathered);
  }
  const std::int64_t used = std::max(kept, largest);
  // The unit with which the prefetched are enough is gathered as a whole.
  const std::int64_t most = std::max(used, options_.live->most + largest);
  const std::int64_t ahead = options_.live->prefetch > 0 ? options_.live->prefetch + largest : 0;
  return std::min({total, most, used + ahead});
}

void Fsdp::form_groups() {
  const auto own = [&](GroupFamily family) {
    families_.push_back(std::move(family));
    return FamilyId{static_cast<std::int32_t>(families::own) +
                    static_cast<std::int32_t>(families_.size()) - 1};
  };
  if (options_.hybrid && options_.shard_degree == 0 && options_.outer.sync_every == 0) {
    ranks_ = equal_ranks_of_machines(job_, "hsdp shards");
    group_ = families::node;
  } else if (options_.hybrid) {
    const int islands = options_.outer.islands;
    const bool apart = options_.outer.sync_every > 0;
    const int size = apart ? job_.world_size / islands : options_.shard_degree;
    if (size < 1 || job_.world_size % size != 0 || (apart && size * islands != job_.world_size)) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::strategy,
          apart ? fmt::format("{} ranks in {} islands; expected a number that divides them",
                              job_.world_size, islands)
                : fmt::format("'data_parallel_shard_degree' is {}; expected a divisor of the {} "
                              "ranks",
                              size, job_.world_size));
    }
    ranks_ = size;
    group_ = own(neighbours(job_, size, "shard"));
    across_ = own(counterparts(job_, size, "replicate"));
  }
  replicas_ = job_.world_size / ranks_;
  backward_ = group_;
  const int degree = options_.backward_degree;
  if (degree == 0 || options_.sharding == Sharding::none || degree == ranks_) return;
  if (ranks_ % degree != 0) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("'reshard_after_forward' is {}; expected a divisor of the {} ranks that share "
                    "a parameter",
                    degree, ranks_));
  }
  backward_ = own(neighbours(job_, degree, "reshard"));
}

std::int64_t Fsdp::padded(const FsdpUnit& unit) const {
  const auto up = [this](std::int64_t count) { return (count + ranks_ - 1) / ranks_ * ranks_; };
  if (!options_.per_parameter) return up(unit.elements);
  std::int64_t elements = 0;
  for (const TensorId id : unit.tensors) elements += padded(job_.tensor(id));
  return elements;
}

double Fsdp::share() const {
  std::int64_t elements = 0;
  for (const Unit& unit : units_) elements += unit.elements;
  if (!options_.per_parameter || elements == 0) return 1 / static_cast<double>(ranks_);
  return static_cast<double>(own()) / static_cast<double>(elements);
}

std::int64_t Fsdp::padded(const TensorInfo& tensor) const {
  if (lies_across(tensor)) return tensor.elements;
  const std::int64_t rows = rows_of(tensor);
  return (rows + ranks_ - 1) / ranks_ * ranks_ * (tensor.elements / rows);
}

bool Fsdp::lies_across(const TensorInfo& tensor) const {
  const bool may = options_.per_parameter && options_.even_shards;
  if (!may || rows_of(tensor) % ranks_ == 0) return false;
  return std::ranges::any_of(tensor.shape,
                             [this](std::int64_t size) { return size % ranks_ == 0; });
}

std::vector<Warning> Fsdp::warnings() const {
  if (!options_.per_parameter || options_.sharding == Sharding::none) return {};
  constexpr double told = 1.1;
  std::int64_t elements = 0;
  std::int64_t all = 0;
  std::int64_t most = 0;
  const TensorInfo* worst = nullptr;
  for (const TensorInfo& tensor : job_.tensors) {
    const std::int64_t with = padded(tensor);
    elements += tensor.elements;
    all += with;
    if (with - tensor.elements <= most) continue;
    most = with - tensor.elements;
    worst = &tensor;
  }
  const double times = static_cast<double>(all) / static_cast<double>(elements);
  if (worst == nullptr || times <= told) return {};
  return {{"uneven-shards",
           fmt::format("{} has {} rows for {} ranks: fully_shard pads each share to {}, and "
                       "gathers {:.1f} times the model's parameters; 'shard_placement_fn: even' "
                       "shards along another dimension",
                       worst->name, rows_of(*worst), ranks_,
                       (rows_of(*worst) + ranks_ - 1) / ranks_, times)}};
}

Phasing Fsdp::phasing() const {
  const bool apart = options_.hybrid && !replicates();
  return {.period = apart ? options_.outer.sync_every : 1};
}

/// The root's parameters, and of the others so many units' as are gathered at once: the limiter's
/// two, or all that are kept to backward. Their gradients, before they are reduced, as many.
Holding Fsdp::on_gpu() const {
  Holding held;
  const double shard = share();
  std::int64_t total = 0;
  for (const Unit& unit : units_) total += unit.padded;
  held.fused_step = options_.live.has_value();  // DeepSpeed's FusedAdam
  if (options_.live && options_.stored_bytes < gradient_element_size) {
    held.mixed = MixedWeights::half;
    held.step = Bytes{std::min(own(), step_elements_max) * gradient_element_size};
  }
  // DiLoCo: the last outer parameters and the outer momentum, as long as the shard (assumed to stay
  // on the GPU).
  Bytes outer{0};
  if (options_.hybrid && !replicates()) {
    outer = Bytes{2 * own() * gradient_element_size};
  }
  held.buffers = outer;
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
  const std::int64_t at_once =
      root + (options_.live ? live_at_once() + persistent_
                            : std::accumulate(units.begin(), units.end(), std::int64_t{0}));
  held.gathered = Bytes{at_once * options_.param_bytes};
  if (backward_ != group_) {
    held.gathered += Bytes{total / options_.backward_degree * options_.param_bytes};
  }
  // DeepSpeed's stage 3 has a buffer of the whole bucket (stage3.py, __add_grad_to_ipg_bucket).
  const std::int64_t unreduced =
      std::max(units.empty() ? root : units.front(), options_.reduce_bucket_size);
  held.buffers = outer + Bytes{unreduced * options_.reduce_bytes};
  if (options_.per_parameter) {
    // What NCCL gathers into, besides the parameters that it is copied to; and gradients, besides
    // the input that they are copied into for their reduction.
    held.gathered += Bytes{unreduced * options_.param_bytes};
    held.buffers += Bytes{unreduced * options_.param_bytes};
    std::int64_t across = 0;  // copied once more, each way
    for (const Unit& unit : units_) across = std::max(across, unit.across);
    held.gathered += Bytes{across * options_.param_bytes};
    held.buffers += Bytes{across * options_.param_bytes};
  }
  return held;
}

Holding Fsdp::holding() const {
  Holding held = on_gpu();
  if (host_) host_->move(held, own());
  return held;
}

Fsdp::Kernels Fsdp::preparation(const Unit& unit) const {
  const bool whole = options_.sharding == Sharding::none;
  const std::int64_t elements = whole ? unit.elements : unit.padded;
  Kernels kernels;
  if (options_.per_parameter) {
    kernels.add((unit.elements + 2 * unit.across) * options_.param_bytes +
                unit.padded * options_.reduce_bytes);
    kernels.count += unit.across_tensors;
    return kernels;
  }
  if (options_.reduce_bytes != options_.param_bytes) {
    kernels.add(unit.elements * (options_.param_bytes + options_.reduce_bytes));
  }
  if (!whole && unit.padded != unit.elements) kernels.add(2 * elements * options_.reduce_bytes);
  if (division_before(ranks_) > 1) kernels.add(2 * elements * options_.reduce_bytes);
  return kernels;
}

Fsdp::Kernels Fsdp::division_of_shard(const Unit& unit) const {
  const std::int64_t elements = own(unit);
  Kernels kernels;
  if (options_.per_parameter) return kernels;
  if (divides_after(ranks_)) kernels.add(2 * elements * options_.reduce_bytes);
  if (replicates() && division_before(replicas_) > 1) {
    kernels.add(2 * elements * options_.reduce_bytes);
  }
  return kernels;
}

Fsdp::Kernels Fsdp::finishing(const Unit& unit) const {
  const std::int64_t elements = own(unit);
  Kernels kernels;
  if (replicates() && !options_.per_parameter && divides_after(replicas_))
    kernels.add(2 * elements * options_.reduce_bytes);
  if (options_.reduce_bytes != options_.stored_bytes) {
    kernels.add(elements * (options_.reduce_bytes + options_.stored_bytes));
  }
  return kernels;
}

std::vector<PlanGroup> Fsdp::plan(int /*iteration*/) const {
  std::vector<PlanGroup> plan;
  const auto add = [&](const Unit& unit, const Collective& collective, const char* note) {
    plan.push_back({unit.tensors, unit.elements, collective.size, note});
  };
  if (gathers()) {
    for (const Unit& unit : units_) add(unit, gather_of(unit, false), "all-gather before forward");
  }
  for (std::size_t u = units_.size(); u-- > 0;) {
    const Unit& unit = units_[u];
    if (options_.sharding == Sharding::full_shard && !unit.root && !unit.kept) {
      add(unit, gather_of(unit, true), "all-gather before backward");
    }
    add(unit, reduction_of(unit),
        options_.sharding == Sharding::none ? "all-reduce" : "reduce-scatter");
    if (replicates()) {
      plan.push_back({unit.tensors, shard(unit), Bytes{shard(unit) * options_.reduce_bytes},
                      "all-reduce of the shard across machines"});
    }
  }
  if (options_.sharding == Sharding::optimizer) {
    for (const Unit& unit : units_) add(unit, gather_of(unit, false), "all-gather after the step");
  }
  return plan;
}

}  // namespace gradwire
