#include "strategies/horovod/horovod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/rehearsal.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t groups_max = 100'000;
/// Names of a tensor's requests: its gradient or the rows of it, and the rows' indices.
constexpr RequestName names_per_tensor = 2;
/// grad.zero_().add_(...): torch/optimizer.py, synchronize.
constexpr int sparse_update_kernels = 2;
/// start.add_(delta), p.copy_(start): torch/optimizer.py, _DistributedAdasumOptimizer.step.
constexpr int adasum_update_kernels = 2;

int read_groups(Knobs& knobs, const Release& version) {
  const std::string source =
      "of DistributedOptimizer, 0.21 or later: gradients are handed over in this many groups";
  const auto old_name = knobs.count("num_groups", 0, 0, groups_max, source + "; up to 0.21.2");
  const auto groups = knobs.count("groups", 0, 0, groups_max, source);
  if (old_name > 0 && groups > 0) {
    knobs.refuse("num_groups", "'num_groups' is the old name of 'groups'; expected one of the two");
  }
  const std::string set = old_name > 0 ? "num_groups" : "groups";
  if (old_name + groups > 0 && version < groups_from) {
    knobs.refuse(set,
                 fmt::format("'{}' came with Horovod 0.21; expected 0 or a later version", set));
  }
  return static_cast<int>(old_name + groups);
}

bool optimizer_gathers_rows(const HorovodOptimizerOptions& options, const JobView& job) {
  return !options.sparse_as_dense && std::ranges::any_of(job.tensors, [&](const auto& tensor) {
    return job.sparse_rows(tensor) > 0;
  });
}

/// With the knobs that autotune chooses. @param told  what it chose; as it was where it is off.
HorovodOptimizerOptions tuned_for(HorovodOptimizerOptions options, const JobView& job,
                                  std::string& told) {
  if (!optimizer_gathers_rows(options, job)) options.core.gather = HorovodGather::nccl;
  if (!options.autotune.on || job.world_size == 1 || !job.iteration_time) return options;
  options.autotune.on = false;
  const auto bytes = static_cast<double>(
      std::transform_reduce(job.tensors.begin(), job.tensors.end(), std::int64_t{0}, std::plus<>(),
                            [&](const TensorInfo& tensor) { return job.size_of(tensor).count(); }));
  const Autotuned tuned =
      autotune(options.core, options.autotune, [&](const HorovodOptions& tried) {
        HorovodOptimizerOptions trial = options;
        trial.core = tried;
        const Seconds step = job.iteration_time(std::make_unique<Horovod>(trial, job),
                                                options.autotune.steps_per_sample);
        return bytes / (step.count() * 1e6);
      });
  options.core = tuned.options;
  told = fmt::format("Horovod's autotune chose {}", text_of(tuned));
  return options;
}

}  // namespace

StrategyMaker Horovod::read(Knobs& knobs) {
  HorovodOptimizerOptions options;
  options.core = read_horovod(knobs);
  options.autotune = read_autotune(knobs);
  options.groups = read_groups(knobs, options.core.version);
  options.sparse_as_dense = knobs.yes(
      "sparse_as_dense", false,
      "of DistributedOptimizer: gradients that `profile.sparse_embeddings` has are made dense");
  options.aggregation_helper = knobs.yes("aggregation_helper", false,
                                         "of horovod.tensorflow with grad_accumulation: "
                                         "LocalGradientAggregationHelper hands gradients over "
                                         "when all are added up (gradient_aggregation.py); so does "
                                         "NVIDIA's BERT for TensorFlow 2 by itself");
  read_horovod_gathers(knobs, options.core);
  return [options](const JobView& job) { return std::make_unique<Horovod>(options, job); };
}

Horovod::Horovod(const HorovodOptimizerOptions& options, const JobView& job)
    : SharedStepStrategy(job),
      options_(tuned_for(options, job, tuned_)),
      queue_(options_.core, job),
      group_of_(job.tensors.size(), -1) {
  std::vector<TensorId> dense;
  for (TensorId id = 0; id < static_cast<TensorId>(job_.tensors.size()); ++id) {
    if (!sparse(id)) dense.push_back(id);
  }
  // split_list, common/util.py: even parts, the first ones one longer.
  const auto groups = static_cast<std::size_t>(options_.groups);
  for (std::size_t group = 0, next = 0; group < groups && next < dense.size(); ++group) {
    const std::size_t size = dense.size() / groups + (group < dense.size() % groups ? 1 : 0);
    for (std::size_t i = 0; i < size; ++i) {
      group_of_[static_cast<std::size_t>(dense[next++])] = static_cast<int>(group);
    }
    group_size_.push_back(static_cast<int>(size));
  }
  collected_.resize(group_size_.size());
}

bool Horovod::adasum() const {
  return options_.core.reduction == HorovodReduction::adasum && active();
}

bool Horovod::sparse(TensorId tensor) const {
  return !options_.sparse_as_dense && job_.is_sparse(tensor);
}

Traits Horovod::traits() const {
  return {.dynamic = true,
          .own_optimizer = adasum(),
          .late_step = active() ? std::optional(step_delay(options_.core)) : std::nullopt,
          .exactness = adasum() ? Exactness::lossy : Exactness::exact,
          .exchanges_rows = true};
}

std::vector<CollectiveUse> Horovod::collectives() const {
  auto uses = queue_.collectives();
  if (options_.core.gather == HorovodGather::nccl && optimizer_gathers_rows(options_, job_)) {
    uses.push_back({CollectiveKind::all_gather, families::all});
  }
  return uses;
}

std::vector<HorovodRequest> Horovod::requests_of(TensorId tensor) const {
  const auto& info = job_.tensor(tensor);
  const RequestName name = names_per_tensor * tensor;
  if (!sparse(tensor)) {
    return {{.name = name, .size = job_.size_of(info), .tensors = {tensor}}};
  }
  const auto [indices, rows] = row_gathers(job_, tensor);
  const auto gather = [tensor](RequestName named, Bytes size) {
    return HorovodRequest{
        .name = named, .kind = RequestKind::gather, .size = size, .tensors = {tensor}};
  };
  return {gather(name + 1, indices.size), gather(name, rows.size)};
}

/// start.copy_(p); step(); p.sub_(start): _DistributedAdasumOptimizer._allreduce_grad_async
void Horovod::take_adasum_step(const TensorInfo& tensor) {
  std::int64_t all = 0;
  for (const auto& each : job_.tensors) all += each.elements;
  poster_.post(copy_of(job_, tensor, "copy of the model"));
  poster_.post(
      OptimizerStep{.share = static_cast<double>(tensor.elements) / static_cast<double>(all),
                    .label = tensor.name});
  poster_.post(copy_of(job_, tensor, "difference"));
}

void Horovod::gradient(TensorId tensor, WorkerId /*worker*/) {
  poster_.post(HostWork{
      .thread = HostWork::launcher, .time = options_.core.hook_time, .label = "Horovod hook"});
  if (adasum()) take_adasum_step(job_.tensor(tensor));
  auto requests = requests_of(tensor);
  reduced_.add(requests.size());
  const int group = group_of_[static_cast<std::size_t>(tensor)];
  if (group >= 0) {
    for (auto& request : requests) request.group = group;
    auto& collected = collected_[static_cast<std::size_t>(group)];
    collected.insert(collected.end(), requests.begin(), requests.end());
    if (static_cast<int>(collected.size()) < group_size_[static_cast<std::size_t>(group)]) return;
    requests = std::exchange(collected, {});
    // _grouped_allreduce_grad_async takes a group's parameters as the optimizer lists them.
    std::ranges::sort(requests, {}, &HorovodRequest::name);
  }
  if (options_.aggregation_helper && job_.micro_batches > 1) {
    aggregated_.insert(aggregated_.end(), requests.begin(), requests.end());
    return;
  }
  queue_.submit(now_, std::move(requests), poster_);
}

void Horovod::finish(WorkerId /*worker*/) {
  if (!aggregated_.empty()) queue_.submit(now_, std::exchange(aggregated_, {}), poster_);
  reduced_.expect(poster_, reduced_.left(), "all gradients are reduced");
  poster_.post(Gate{.until = {reduced_.flag()}});
  for (TensorId id = 0; id < static_cast<TensorId>(job_.tensors.size()); ++id) {
    if (adasum()) {
      auto update = copy_of(job_, job_.tensor(id), "add the difference");
      update.traffic = adasum_update_kernels * update.traffic;
      update.kernels = adasum_update_kernels;
      poster_.post(std::move(update));
    }
    if (!sparse(id)) continue;
    const auto requests = requests_of(id);
    poster_.post(DeviceWork{.traffic = 2 * requests.back().size,
                            .kernels = sparse_update_kernels,
                            .label = "add gathered rows"});
  }
  reduced_.end(poster_, 0);
}

void Horovod::ended(OperationId operation) {
  reduced_.end(poster_, queue_.on_done(now_, operation, poster_).size());
}

std::vector<PlanGroup> Horovod::plan(int iteration) const {
  Horovod rehearsed(options_, job_);
  return groups_of(job_, rehearse(rehearsed, job_, iteration));
}

}  // namespace gradwire
