#include "sim/train/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <tuple>
#include <variant>

#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/tensor_timeline.hpp"
#include "sim/train/gain.hpp"
#include "sim/train/inputs.hpp"
#include "sim/train/rank_memory.hpp"
#include "sim/train/run_clock.hpp"
#include "strategies/horovod/tensor_phases.hpp"
#include "strategies/horovod/tuned_knobs.hpp"

namespace gradwire {
namespace {

/// Groups of gradients that move in an iteration.
std::size_t groups_of(const std::vector<StrategyInstance>& instances) {
  std::size_t groups = 0;
  for (const auto& instance : instances) groups += instance.strategy->plan(0).size();
  return groups;
}

/// @param instances  outlive what is made of the options.
EngineOptions engine_options(const Job& job, const std::vector<StrategyInstance>& instances,
                             bool at_once) {
  EngineOptions options = job.engine;
  // A worker that stands for several has their copies as one flow, which would have one turn.
  options.ports_in_turn = std::ranges::none_of(instances, [](const StrategyInstance& instance) {
    return instance.strategy->traits().independent_workers;
  });
  options.one_at_a_time = !at_once && job.library.concurrent_collectives() == 1;
  options.library_sets_times = job.library.sets_times();
  const bool independent = instances.front().traits.independent_workers;
  if (!independent) options.groups = [&instances] { return groups_of(instances); };
  return options;
}

Phasing phasing_of(const std::vector<StrategyInstance>& instances) {
  Phasing phasing;
  for (const auto& instance : instances) phasing = phasing.with(instance.strategy->phasing());
  return phasing;
}

std::vector<const Strategy*> strategies_of(const std::vector<StrategyInstance>& instances) {
  std::vector<const Strategy*> strategies;
  strategies.reserve(instances.size());
  for (const auto& instance : instances) strategies.push_back(instance.strategy.get());
  return strategies;
}

std::vector<std::vector<bool>> laid_of(const std::vector<StrategyInstance>& instances) {
  std::vector<std::vector<bool>> laid;
  laid.reserve(instances.size());
  for (const auto& instance : instances) laid.push_back(instance.exchanges);
  return laid;
}

bool is_dynamic(const Job& job, const std::vector<StrategyInstance>& instances) {
  const auto communicates = [](const RankClass& rank_class) {
    return std::ranges::any_of(rank_class.program, [](const ProgramStep& step) {
      return !std::holds_alternative<ComputePass>(step);
    });
  };
  return std::ranges::any_of(instances, [](const auto& i) { return i.traits.dynamic; }) ||
         std::ranges::any_of(job.rank_classes, communicates);
}

/// Members begin when the run does. Those of one kind stand side by side, and there those that are
/// about as fast: they are about as far in their iteration at any time. Independent workers keep
/// their numbers.
std::vector<MemberGroup> side_by_side(std::vector<MemberGroup> members, bool independent) {
  for (MemberGroup& member : members) member.start += run_begins;
  if (independent) return members;
  std::ranges::stable_sort(members, {}, [](const MemberGroup& member) {
    return std::tuple(member.rank_class, member.worker_class, member.inputs, member.speed);
  });
  return members;
}

/// Adds the phases of tensors that lie within the recorded bars.
void append_phases(const TensorTimeline& timeline, const std::vector<TensorInfo>& tensors,
                   std::vector<Span>& spans) {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;
  for (const Span& span : spans) {
    start = std::min(start, span.start);
    end = std::max(end, span.start + span.duration);
  }
  for (const auto& [tensor, name, from, to] : timeline.phases()) {
    if (from.count() < start || to.count() > end) continue;
    const TensorInfo& info = tensors[static_cast<std::size_t>(tensor)];
    spans.push_back({.resource = info.name,
                     .worker = tensor_timeline,
                     .name = name,
                     .start = from.count(),
                     .duration = (to - from).count(),
                     .bytes = 0,
                     .tensors = {},
                     .cause = ""});
  }
}

/// Bytes of its machine's memory for each rank of the first machine; 0: unknown.
double host_share(const Job& job) {
  const int machine = job.placement.front().node;
  const auto& memory = job.cluster.node(machine).host_memory;
  if (!memory) return 0;
  const auto ranks = std::ranges::count(job.placement, machine, &GpuRef::node);
  return static_cast<double>(memory->size.count()) / static_cast<double>(ranks);
}

}  // namespace

TrainingRun::TrainingRun(const Job& job, std::vector<StrategyInstance> instances,
                         std::vector<MemberGroup> members)
    : job_(job),
      instances_(std::move(instances)),
      phasing_(phasing_of(instances_)),
      phases_(choose_phases(phasing_, job.run)),
      independent_(instances_.front().traits.independent_workers),
      dynamic_(is_dynamic(job, instances_)),
      engine_options_(engine_options(job, instances_, dynamic_ || instances_.size() > 1)),
      plans_(job, strategies_of(instances_), laid_of(instances_),
             engine_options_.one_at_a_time && engine_options_.fidelity == Fidelity::automatic),
      engine_(make_engine(job.cluster, plans_.patterns(), engine_options_,
                          [this](PatternId id) { plans_.was_read(id); })),
      members_(side_by_side(std::move(members), independent_)),
      summary_(job, members_, independent_, instances_.front().traits.lead),
      messages_(job.jitter.message, job.run.seed) {
  if (independent_) {
    for (const MemberGroup& member : members_) add_lane(0, {member});
  } else {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      instances_[i].first_lane = lanes_.size();
      std::vector<MemberGroup> own;
      std::ranges::copy_if(members_, std::back_inserter(own), [i](const MemberGroup& member) {
        return static_cast<std::size_t>(member.rank_class) == i;
      });
      add_lane(i, std::move(own));
    }
  }
  lanes_running_ = lanes_.size();
  dirty_ = LaneSet(lanes_.size());
  watch_repeats();
  while (traced_lane_ + 1 < lanes_.size() &&
         lanes_[traced_lane_ + 1].first_member <= summary_.slowest_member()) {
    ++traced_lane_;
  }
  auto* timeline =
      dynamic_cast<TensorTimeline*>(instances_[lanes_[traced_lane_].instance].strategy.get());
  if (timeline != nullptr && job.record_spans) timeline->record(job.library.on_gpu());
}

RunResult TrainingRun::run() {
  if (!job_.run.ignore_memory) refuse_what_does_not_fit();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    engine_->at(Seconds{lanes_[lane].workers.members().front().start}, [this, lane] {
      begin_iteration(lane);
      pump();
    });
  }
  engine_->run([this](TransferId id, Seconds /*now*/) {
    transfer_done(id);
    pump();
  });
  for (const WorkerLane& lane : lanes_) {
    if (lane.iteration >= iterations()) continue;
    throw SimulationError(fmt::format("iteration {} never ends; waiting: {}", lane.iteration,
                                      lane.workers.waiting()));
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  RunResult result = summary_.result(plans_, engine_->network(), engine_->now(), moved(),
                                     std::move(lanes_[traced_lane_].workers.spans()));
  result.engine_cost.run_s = wall.count();
  result.engine_cost.iterations_run = iterations() - counted_again_;
  for (Span& bar : result.spans) bar.start -= run_begins;
  const StrategyInstance& traced = instances_[lanes_[traced_lane_].instance];
  result.staleness = traced.strategy->staleness();
  result.exactness = traced.traits.exactness;
  tell_memory(result);
  tell_dense_exchange(result);
  for (auto& warning : traced.strategy->warnings()) {
    result.warnings.insert(result.warnings.begin(), std::move(warning));
  }
  const auto* timeline = dynamic_cast<const TensorTimeline*>(traced.strategy.get());
  if (timeline != nullptr) append_phases(*timeline, tensors_of(traced.job.profile), result.spans);
  const auto* knobs = dynamic_cast<const TunedKnobs*>(traced.strategy.get());
  if (knobs != nullptr && !knobs->tuned().empty()) {
    result.warnings.push_back({"autotuned", knobs->tuned()});
  }
  result.warnings.insert(result.warnings.begin(), phases_.warnings.begin(), phases_.warnings.end());
  return result;
}

void TrainingRun::tell_dense_exchange(RunResult& result) const {
  const StrategyInstance& traced = instances_[lanes_[traced_lane_].instance];
  const auto sparse = [](const TensorInfo& tensor) { return tensor.sparse_rows > 0; };
  if (traced.traits.exchanges_rows || traced.job.placement.size() == 1 ||
      std::ranges::none_of(tensors_of(traced.job.profile), sparse)) {
    return;
  }
  result.warnings.push_back(
      {"dense-embeddings",
       "the strategy exchanges sparse gradients of embeddings as dense ones, all their rows: the "
       "original has no other way, or its own is not modelled"});
}

TrainingRun::Fullest TrainingRun::fullest() const {
  Fullest most;
  for (const StrategyInstance& in : instances_) {
    auto memory = rank_memory(in.job.profile, in.job.gpu, in.strategy->holding(),
                              in.job.micro_batches, in.kept);
    if (memory) memory->host_capacity = host_share(job_);
    if (!memory || (most.memory && most.memory->allocated >= memory->allocated)) continue;
    most = {memory, &in};
  }
  return most;
}

void TrainingRun::refuse_what_does_not_fit() const {
  const Fullest most = fullest();
  if (!most.memory || fits(*most.memory)) return;
  std::string text = memory_warning(*most.memory, most.instance->job.profile)->text +
                     "; expected a smaller batch, recomputation, more shards, or "
                     "--ignore-memory for a rate all the same";
  for (const Warning& warning : most.instance->strategy->warnings()) {
    if (warning.code == "uneven-shards") text += ". " + warning.text;
  }
  throw DoesNotFit(text);
}

void TrainingRun::tell_memory(RunResult& result) const {
  const auto tell = [&](std::optional<Warning> warning) {
    if (warning) result.warnings.push_back(std::move(*warning));
  };
  const Fullest most = fullest();
  result.memory = most.memory;
  if (most.memory) tell(memory_warning(*most.memory, most.instance->job.profile));
  const auto alone = rank_memory(job_.profile, job_.gpu, {}, job_.micro_batches);
  result.one_gpu_fits = !alone || fits(*alone);
  if (result.one_gpu_fits) tell(gain_warning(result, job_.profile.optimizer));
  tell(input_warning(job_, result));
}

void TrainingRun::span(std::size_t instance, const char* resource, const std::string& label,
                       double start, Bytes size, const std::vector<TensorId>& tensors) {
  WorkerLane& lane = lanes_[traced_lane_];
  if (lane.instance == instance) {
    lane.workers.span(resource, label, start, now(), size, tensors);
  }
}

void TrainingRun::add_lane(std::size_t instance, std::vector<MemberGroup> members) {
  StrategyInstance& in = instances_[instance];
  const CommunicationStream stream{.on_gpu = job_.library.on_gpu(),
                                   .concurrent = job_.library.concurrent_collectives(),
                                   .run_ahead = !dynamic_};
  std::vector<GpuCapacity> gpus;
  gpus.reserve(static_cast<std::size_t>(class_count(in.job)));
  for (int c = 0; c < class_count(in.job); ++c) gpus.push_back(capacity_of(gpu_of(in.job, c)));
  const std::size_t before =
      lanes_.empty() ? 0 : lanes_.back().first_member + lanes_.back().workers.members().size();
  lanes_.push_back({.number = lanes_.size(),
                    .instance = instance,
                    .first_member = before,
                    .workers = Workers(std::move(members), tensors_of(in.job.profile), log_,
                                       in.activity, std::move(gpus), stream),
                    .draws = IterationDraws(job_.jitter, in.job.profile, job_.run.seed)});
}

}  // namespace gradwire
