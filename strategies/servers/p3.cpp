#include "strategies/servers/p3.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gradwire {

StrategyMaker P3::read(Knobs& knobs) {
  Options options;
  options.slice_size = knobs.count("slice_size", options.slice_size, 1, std::int64_t{1} << 40,
                                   "parameters, from P3's paper; MXNet's own P3Store: "
                                   "MXNET_KVSTORE_SLICE_THRESHOLD=40000");
  options.store = read_kv_store(knobs);
  return [options](const JobView& job) { return std::make_unique<P3>(options, job); };
}

P3::P3(const Options& options, const JobView& job)
    : options_(options),
      job_(job),
      store_(poster_, options.store, job, false),
      gates_(job),
      slices_(job.tensors.size()) {
  int next = 0;
  for (std::size_t id = 0; id < job_.tensors.size(); ++id) {
    std::int64_t left = job_.tensors[id].elements;
    for (int part = 0; left > 0; ++part) {
      const std::int64_t elements = std::min(left, options_.slice_size);
      slices_[id].push_back({static_cast<TensorId>(id), part, elements, next});
      next = (next + 1) % store_.servers();
      left -= elements;
    }
  }
}

Traits P3::traits() const {
  return {.dynamic = true, .forward_hooks = true, .own_optimizer = true};
}

std::vector<CollectiveUse> P3::collectives() const {
  return store_.collectives();
}

std::vector<Exchange> P3::exchanges() const {
  return store_.exchanges();
}

Operations P3::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* done = std::get_if<OperationDone>(&event)) {
    poster_.done(done->operation);
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch)) gradient_hook(hook->tensor);
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    if (forward->micro_batch == 0) gates_.post(forward->layer, poster_);
  }
  return poster_.take();
}

void P3::gradient_hook(TensorId tensor) {
  const OperationId flag = poster_.post(Flag{job_.tensor(tensor).name});
  gates_.wait_for(tensor, flag);
  poster_.post(launch_marker("ready"), [this, tensor, flag] { send(tensor, flag); });
}

void P3::send(TensorId tensor, OperationId flag) {
  const auto& slices = slices_[static_cast<std::size_t>(tensor)];
  const auto missing = std::make_shared<std::size_t>(slices.size());
  for (const Slice& slice : slices) {
    LaneItem item{.size = job_.size_of(slice.elements),
                  .tensors = {tensor},
                  .label = fmt::format("{} slice {}", job_.tensor(tensor).name, slice.part),
                  .priority = tensor};
    const auto key =
        (static_cast<std::uint64_t>(tensor) << 32U) + static_cast<std::uint64_t>(slice.part);
    store_.push_pull(item, slice.server, key, {.pulled = [this, missing, flag] {
                       if (--*missing == 0) poster_.post(Raise{flag});
                     }});
  }
}

std::vector<PlanGroup> P3::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const auto& slices = slices_[static_cast<std::size_t>(id)];
    for (const Slice& slice : slices) {
      groups.push_back(
          {{id},
           slice.elements,
           job_.size_of(slice.elements),
           fmt::format("slice {} of {}, server {}", slice.part + 1, slices.size(), slice.server)});
    }
  }
  return groups;
}

}  // namespace gradwire
