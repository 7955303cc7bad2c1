#include "strategies/servers/p3.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/parts/job_places.hpp"

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
    : LayerwiseStrategy(job),
      options_(options),
      store_(poster_, options.store, job, false),
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

void P3::exchange(TensorId tensor, OperationId flag) {
  const auto& slices = slices_[static_cast<std::size_t>(tensor)];
  const auto missing = std::make_shared<std::size_t>(slices.size());
  for (const Slice& slice : slices) {
    const auto part = static_cast<std::uint64_t>(slice.part);
    const LaneItem item{.size = job_.size_of(slice.elements),
                        .tensors = {tensor},
                        .label = fmt::format("{} slice {}", job_.tensor(tensor).name, slice.part),
                        .priority = tensor,
                        .key = (static_cast<std::uint64_t>(tensor) << 32U) + part};
    store_.push_pull(item, slice.server, {.pulled = [this, missing, flag] {
                       if (--*missing == 0) poster_.post(Raise{flag});
                     }});
  }
}

std::vector<Exchange> P3::exchanges() const {
  return visited_exchanges(*this);
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
