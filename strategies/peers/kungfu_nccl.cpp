#include "strategies/peers/kungfu_nccl.hpp"

#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Streams of collectives that are ready when posted.
constexpr int reduce_stream = 1;
constexpr int broadcast_stream = 2;

KungfuSessionOptions between_machines(KungfuSessionOptions options) {
  if (options.graph != KungfuGraph::ring) options.graph = KungfuGraph::binary_tree;
  return options;
}

std::vector<PlanGroup> in_order(const JobView& job, const std::vector<TensorId>& order) {
  std::vector<PlanGroup> groups;
  groups.reserve(order.size());
  for (const TensorId id : order) {
    groups.push_back({{id}, job.tensor(id).elements, job.size_of(job.tensor(id))});
  }
  return groups;
}

}  // namespace

KungfuNccl::KungfuNccl(JobView job, bool fusion)
    : job_(std::move(job)), fusion_(fusion), order_(job_.tensors) {}

Operations KungfuNccl::on_event(Seconds /*now*/, const Event& event) {
  if (std::holds_alternative<IterationStart>(event)) {
    order_.reset();
    missing_ = job_.tensors.size();
    if (!fusion_) all_there_ = writer_.post(Flag{.label = "all-reduces over"});
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch) && !fusion_) {
      ready_[writer_.post(launch_marker("gradient ready"))] = hook->tensor;
    }
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish();
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    if (const auto at = ready_.find(ended->operation); at != ready_.end()) {
      for (const TensorId next : order_.ready(at->second)) reduce(next);
      ready_.erase(at);
    } else if (reduced_.erase(ended->operation) > 0 && --missing_ == 0) {
      writer_.post(Raise{.flag = all_there_});
    }
  }
  return writer_.take();
}

void KungfuNccl::reduce(TensorId tensor) {
  reduced_[writer_.post(Collective{.size = job_.size_of(job_.tensor(tensor)),
                                   .tensors = {tensor},
                                   .label = job_.tensor(tensor).name,
                                   .ready = Collective::Ready::at_once,
                                   .stream = reduce_stream})] = tensor;
}

void KungfuNccl::finish() {
  if (!fusion_) {
    writer_.post(Gate{.until = {all_there_}});
    return;
  }
  Bytes size{0};
  for (const auto& tensor : job_.tensors) size += job_.size_of(tensor);
  const int count = static_cast<int>(job_.tensors.size());
  writer_.post(DeviceWork{.traffic = 2 * size, .kernels = count, .label = "fuse"});
  const auto reduced = writer_.post(
      Collective{.size = size, .tensors = order_.order(), .label = "all-reduce of all gradients"});
  writer_.post(Gate{.until = {reduced}});
  writer_.post(DeviceWork{.traffic = 2 * size, .kernels = count, .label = "defuse"});
}

std::vector<PlanGroup> KungfuNccl::plan(int /*iteration*/) const {
  auto groups = in_order(job_, order_.order());
  if (!fusion_) return groups;
  PlanGroup all{.tensors = order_.order()};
  for (const auto& group : groups) {
    all.elements += group.elements;
    all.size += group.size;
  }
  return {all};
}

KungfuHierarchical::KungfuHierarchical(const KungfuSessionOptions& options, JobView job)
    : job_(std::move(job)),
      session_(between_machines(options), job_, first_ranks(job_)),
      reduces_(job_.tensors),
      broadcasts_(job_.tensors) {}

std::vector<CollectiveUse> KungfuHierarchical::collectives() const {
  return {{CollectiveKind::reduce, families::node}, {CollectiveKind::broadcast, families::node}};
}

Operations KungfuHierarchical::on_event(Seconds /*now*/, const Event& event) {
  if (std::holds_alternative<IterationStart>(event)) {
    reduces_.reset();
    broadcasts_.reset();
    missing_ = job_.tensors.size();
    all_there_ = writer_.post(Flag{.label = "broadcasts over"});
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch)) {
      pending_[writer_.post(launch_marker("gradient ready"))] = {Stage::ready, hook->tensor};
    }
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) writer_.post(Gate{.until = {all_there_}});
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    advance(ended->operation);
  }
  return writer_.take();
}

void KungfuHierarchical::post_collective(Stage stage, TensorId tensor) {
  const bool reduces = stage == Stage::reduced;
  const auto id =
      writer_.post(Collective{.kind = reduces ? CollectiveKind::reduce : CollectiveKind::broadcast,
                              .size = job_.size_of(job_.tensor(tensor)),
                              .tensors = {tensor},
                              .label = job_.tensor(tensor).name,
                              .communicator = families::node,
                              .ready = Collective::Ready::at_once,
                              .stream = reduces ? reduce_stream : broadcast_stream});
  pending_[id] = {stage, tensor};
}

void KungfuHierarchical::advance(OperationId operation) {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) {
    if (const auto tensor = session_.advance(operation, writer_)) {
      for (const TensorId next : broadcasts_.ready(*tensor)) {
        post_collective(Stage::broadcast, next);
      }
    }
    return;
  }
  const Pending pending = found->second;
  pending_.erase(found);
  switch (pending.stage) {
    case Stage::ready:
      for (const TensorId next : reduces_.ready(pending.tensor)) {
        post_collective(Stage::reduced, next);
      }
      break;
    case Stage::reduced:
      session_.start(pending.tensor, job_.tensor(pending.tensor), KungfuSession::Kind::all_reduce,
                     writer_);
      break;
    case Stage::broadcast:
      if (--missing_ == 0) writer_.post(Raise{.flag = all_there_});
      break;
  }
}

std::vector<PlanGroup> KungfuHierarchical::plan(int /*iteration*/) const {
  return in_order(job_, reduces_.order());
}

}  // namespace gradwire
