#include "strategies/all_reduce/tf_collective_all_reduce.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// kGrpcWorkerServiceThreadCount, core/distributed_runtime/rpc/grpc_worker_service.h.
constexpr int worker_threads = 8;

/// Concatenating and splitting read and write a pack once each.
constexpr std::int64_t copy_passes = 2;

/// group_by_size, cross_device_utils.py; behind the packs sparse gradients, each by itself
/// (CrossDeviceOps.batch_reduce: split_by_sparsity).
std::vector<PlanGroup> packs_of(const JobView& job, Bytes bytes_per_pack) {
  const auto order = reverse_registration_order(static_cast<int>(job.tensors.size()));
  const auto is_sparse = [&](TensorId id) { return job.is_sparse(id); };
  std::vector<TensorId> dense;
  std::ranges::remove_copy_if(order, std::back_inserter(dense), is_sparse);
  std::vector<PlanGroup> packs =
      cut_into_groups(job, dense, [bytes_per_pack](const auto& so_far, TensorId /*next*/) {
        return bytes_per_pack > Bytes{0} && so_far.back().size > bytes_per_pack;
      });
  for (const TensorId id : order) {
    if (is_sparse(id)) packs.push_back(group_of_rows(job, id));
  }
  return packs;
}

}  // namespace

StrategyMaker TfCollectiveAllReduce::read(Knobs& knobs) {
  static const std::vector<std::string> implementations = {"AUTO", "RING", "NCCL"};
  TfCollectiveOptions options;
  options.nccl = knobs.choice("implementation", "AUTO", implementations,
                              "CommunicationOptions(implementation=AUTO): TensorFlow's ring over "
                              "gRPC unless it says NCCL") == "NCCL";
  knobs.read("bytes_per_pack", options.bytes_per_pack,
             "CommunicationOptions(bytes_per_pack=0): a pack ends with the gradient that "
             "exceeds it; 0: one pack of all gradients",
             Bytes{0});
  ConditionalKnobs ring(knobs);
  options.calls = read_remote_calls(ring, worker_threads);
  if (options.nccl) ring.refuse_without("implementation: RING");
  return [options](const JobView& job) {
    return std::make_unique<TfCollectiveAllReduce>(options, job);
  };
}

TfCollectiveAllReduce::TfCollectiveAllReduce(const TfCollectiveOptions& options, const JobView& job)
    : SharedStepStrategy(job),
      options_(options),
      packs_(job, packs_of(job, options.bytes_per_pack)) {
  if (options_.nccl || !active()) return;
  std::vector<Bytes> sizes;
  for (const PlanGroup& pack : packs_.all()) sizes.push_back(pack.size);
  ring_ = std::make_unique<TfRing>(options_.calls, job_, sizes, poster_);
}

Traits TfCollectiveAllReduce::traits() const {
  return {.dynamic = ring_ != nullptr, .own_optimizer = active(), .exchanges_rows = true};
}

std::vector<CollectiveUse> TfCollectiveAllReduce::collectives() const {
  if (!options_.nccl) return {};
  std::vector<CollectiveUse> uses = {{CollectiveKind::all_reduce}};
  if (packs_.size() > 0 && sparse(packs_.size() - 1)) uses.push_back({CollectiveKind::all_gather});
  return uses;
}

std::vector<Exchange> TfCollectiveAllReduce::exchanges() const {
  return ring_ == nullptr ? std::vector<Exchange>{} : ring_->exchanges();
}

bool TfCollectiveAllReduce::sparse(std::size_t pack) const {
  return job_.is_sparse(packs_[pack].tensors.front());
}

std::int64_t TfCollectiveAllReduce::stepped(std::size_t pack) const {
  return sparse(pack) ? job_.elements_in(packs_[pack].size) : packs_[pack].elements;
}

void TfCollectiveAllReduce::gradient(TensorId tensor, WorkerId /*worker*/) {
  packs_.arrived(tensor);
  while (const auto pack = packs_.next()) send(*pack);
}

void TfCollectiveAllReduce::send(std::size_t pack) {
  const PlanGroup& group = packs_[pack];
  if (group.tensors.size() > 1) {
    poster_.post(DeviceWork{.traffic = copy_passes * group.size, .label = "concatenate a pack"});
  }
  if (ring_ != nullptr) return;
  if (sparse(pack)) {
    auto [indices, rows] = row_gathers(job_, group.tensors.front());
    poster_.post(std::move(indices));
    reduced_.push_back(poster_.post(std::move(rows)));
    return;
  }
  reduced_.push_back(poster_.post(
      Collective{.size = group.size, .tensors = group.tensors, .label = "all-reduce of a pack"}));
}

void TfCollectiveAllReduce::finish(WorkerId /*worker*/) {
  if (ring_ != nullptr) {
    for (std::size_t i = 0; i < packs_.size(); ++i) {
      reduced_.push_back(poster_.post(Flag{.label = "a pack is reduced"}));
    }
    poster_.post(launch_marker("backward has run"),
                 [this, flags = reduced_] { reduce_from(0, flags); });
  }
  std::int64_t all = 0;
  for (std::size_t i = 0; i < packs_.size(); ++i) all += stepped(i);
  for (std::size_t i = 0; i < packs_.size(); ++i) {
    const PlanGroup& pack = packs_[i];
    poster_.post(Gate{.until = {reduced_[i]}});
    if (pack.tensors.size() > 1) {
      poster_.post(DeviceWork{.traffic = copy_passes * pack.size, .label = "split a pack"});
    }
    poster_.post(OptimizerStep{.share = static_cast<double>(stepped(i)) / static_cast<double>(all),
                               .label = "update of a pack"});
  }
  reduced_.clear();
}

void TfCollectiveAllReduce::reduce_from(std::size_t pack, const std::vector<OperationId>& flags) {
  const auto ended = [this, pack, flags] {
    poster_.post(Raise{.flag = flags[pack]});
    if (pack + 1 < packs_.size()) reduce_from(pack + 1, flags);
  };
  const PlanGroup& group = packs_[pack];
  if (!sparse(pack)) {
    ring_->reduce(group.size, group.tensors, ended);
    return;
  }
  auto [indices, rows] = row_gathers(job_, group.tensors.front());
  ring_->gather(indices.size, group.tensors, [this, size = rows.size, group, ended] {
    ring_->gather(size, group.tensors, ended);
  });
}

}  // namespace gradwire
