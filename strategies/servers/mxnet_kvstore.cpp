#include "strategies/servers/mxnet_kvstore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {

StrategyMaker MxnetKvStore::read(Knobs& knobs) {
  const KvStoreOptions options =
      read_kv_store(knobs, {"local", "device", "dist_sync", "dist_device_sync"});
  return [options](const JobView& job) { return std::make_unique<MxnetKvStore>(options, job); };
}

MxnetKvStore::MxnetKvStore(KvStoreOptions options, const JobView& job)
    : LayerwiseStrategy(job), options_(std::move(options)) {
  if (options_.kv_store.starts_with("dist")) {
    servers_ = std::make_unique<KvStore>(poster_, options_, job_, true);
  } else if (job_.world_size > 1) {
    local_ = std::make_unique<LocalKvStore>(poster_, options_, job_);
  }
}

std::vector<CollectiveUse> MxnetKvStore::collectives() const {
  return servers_ ? servers_->collectives() : std::vector<CollectiveUse>{};
}

std::vector<Exchange> MxnetKvStore::exchanges() const {
  return visited_exchanges(*this);
}

void MxnetKvStore::visit_exchanges(const ExchangeVisit& visit) const {
  if (servers_) return servers_->visit_exchanges(visit);
  if (local_) std::ranges::for_each(local_->exchanges(), visit);
}

void MxnetKvStore::exchange(TensorId key, OperationId flag) {
  const TensorInfo& tensor = job_.tensor(key);
  const LaneItem item{.size = job_.size_of(tensor),
                      .tensors = {key},
                      .label = tensor.name,
                      .key = static_cast<std::uint64_t>(key)};
  const Poster::Then pulled = [this, flag] { poster_.post(Raise{flag}); };
  if (servers_) {
    servers_->push_pull_key(item, {.pulled = pulled});
  } else {
    local_->push_pull(item, key, pulled);
  }
}

std::string MxnetKvStore::place_of(TensorId key) const {
  if (servers_) {
    const auto shards = servers_->shards_of(job_.tensor(key).elements, key);
    return shards.size() > 1 ? fmt::format("{} servers", shards.size())
                             : fmt::format("server {}", shards.front().server);
  }
  if (options_.kv_store == "local") return "CPU";
  return local_ ? fmt::format("GPU {}", local_->merging_gpu(key)) : "GPU 0";
}

std::vector<PlanGroup> MxnetKvStore::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId key : job_.gradient_order) {
    const TensorInfo& tensor = job_.tensor(key);
    groups.push_back({{key}, tensor.elements, job_.size_of(tensor), place_of(key)});
  }
  return groups;
}

}  // namespace gradwire
