#include "strategies/peers/kungfu_nccl.hpp"

#include <algorithm>
#include <string>
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

/// The order group of sync-sgd-nccl (python ops/collective.py:100-137): a tensor goes when it is
/// ready and all before it have gone.
TensorGroups by_name(const JobView& job) {
  TensorGroups groups;
  for (const TensorId id : registration_order(job)) groups.push_back({id});
  std::ranges::stable_sort(groups, {},
                           [&](const std::vector<TensorId>& group) -> const std::string& {
                             return job.tensor(group.front()).name;
                           });
  return groups;
}

}  // namespace

KungfuNccl::KungfuNccl(const JobView& job, bool fusion)
    : StepStrategy(job), fusion_(fusion), order_(job, by_name(job)) {}

void KungfuNccl::begin(int /*iteration*/, WorkerId /*worker*/) {
  if (!fusion_) reduced_.expect(poster_, job_.tensors.size(), "all-reduces over");
}

void KungfuNccl::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (fusion_) return;
  poster_.post(launch_marker("gradient ready"), [this, tensor] {
    order_.arrived(tensor);
    while (const auto next = order_.next()) reduce(order_[*next]);
  });
}

void KungfuNccl::reduce(const PlanGroup& group) {
  poster_.post(Collective{.size = group.size,
                          .tensors = group.tensors,
                          .label = job_.tensor(group.tensors.front()).name,
                          .ready = Collective::Ready::at_once,
                          .stream = reduce_stream},
               [this] { reduced_.end(poster_); });
}

void KungfuNccl::finish(WorkerId /*worker*/) {
  if (!fusion_) {
    poster_.post(Gate{.until = {reduced_.flag()}});
    return;
  }
  PlanGroup all = plan(0).front();
  const DeviceWork copy{
      .traffic = 2 * all.size, .kernels = static_cast<int>(all.tensors.size()), .label = "fuse"};
  poster_.post(copy);
  poster_.post(Gate{.until = {poster_.post(Collective{.size = all.size,
                                                      .tensors = std::move(all.tensors),
                                                      .label = "all-reduce of all gradients"})}});
  DeviceWork back = copy;
  back.label = "defuse";
  poster_.post(std::move(back));
}

std::vector<PlanGroup> KungfuNccl::plan(int /*iteration*/) const {
  if (!fusion_) return order_.all();
  std::vector<TensorId> all;
  for (const PlanGroup& group : order_.all()) all.push_back(group.tensors.front());
  return {group_of(job_, std::move(all))};
}

KungfuHierarchical::KungfuHierarchical(const KungfuSessionOptions& options, const JobView& job)
    : StepStrategy(job),
      session_(between_machines(options), job_, first_ranks(job_), poster_),
      reduces_(job, by_name(job)),
      broadcasts_(reduces_) {}

std::vector<CollectiveUse> KungfuHierarchical::collectives() const {
  return {{CollectiveKind::reduce, families::node}, {CollectiveKind::broadcast, families::node}};
}

void KungfuHierarchical::begin(int /*iteration*/, WorkerId /*worker*/) {
  broadcast_.expect(poster_, job_.tensors.size(), "broadcasts over");
}

void KungfuHierarchical::gradient(TensorId tensor, WorkerId /*worker*/) {
  poster_.post(launch_marker("gradient ready"), [this, tensor] {
    reduces_.arrived(tensor);
    while (const auto next = reduces_.next()) reduce(reduces_[*next].tensors.front());
  });
}

void KungfuHierarchical::finish(WorkerId /*worker*/) {
  poster_.post(Gate{.until = {broadcast_.flag()}});
}

void KungfuHierarchical::reduce(TensorId tensor) {
  collective(CollectiveKind::reduce, reduce_stream, tensor, [this, tensor] {
    session_.start(tensor, job_.tensor(tensor), KungfuSession::Kind::all_reduce, [this, tensor] {
      broadcasts_.arrived(tensor);
      while (const auto next = broadcasts_.next()) {
        broadcast(broadcasts_[*next].tensors.front());
      }
    });
  });
}

void KungfuHierarchical::broadcast(TensorId tensor) {
  collective(CollectiveKind::broadcast, broadcast_stream, tensor,
             [this] { broadcast_.end(poster_); });
}

void KungfuHierarchical::collective(CollectiveKind kind, int stream, TensorId tensor,
                                    Poster::Then then) {
  poster_.post(Collective{.kind = kind,
                          .size = job_.size_of(job_.tensor(tensor)),
                          .tensors = {tensor},
                          .label = job_.tensor(tensor).name,
                          .communicator = families::node,
                          .ready = Collective::Ready::at_once,
                          .stream = stream},
               std::move(then));
}

std::vector<PlanGroup> KungfuHierarchical::plan(int /*iteration*/) const {
  return reduces_.all();
}

}  // namespace gradwire
