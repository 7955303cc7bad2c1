#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strategies/servers/kv_store.hpp"
#include "strategies/servers/layerwise_strategy.hpp"
#include "strategies/servers/local_kv_store.hpp"

namespace gradwire {

/// MXNet's own data parallelism: every gradient is pushed to a key-value store as soon as it is
/// there, and its parameter pulled; a layer's next forward pass waits for its own. Several GPUs of
/// a machine are one worker, which sums them before it pushes. Keys of `bigarray_bound` elements or
/// more are split over all servers, a smaller one lies on one server by its number.
///
/// Keys go in the order of their gradients: priorities (minus the key) order only MXNet's local
/// sums, and its connections send what comes first. One GPU of its own needs no `local` or `device`
/// store. Asynchronous servers (dist_async): ps_async with `pull: variable`.
///
/// Source: apache/mxnet, src/kvstore/{kvstore_dist.h,kvstore_dist_server.h,kvstore_local.h,comm.h},
/// python/mxnet/model.py (_create_kvstore, _update_params_on_kvstore).
class MxnetKvStore final : public LayerwiseStrategy {
 public:
  MxnetKvStore(KvStoreOptions options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  [[nodiscard]] bool active() const override { return local_ || servers_; }
  [[nodiscard]] std::string place_of(TensorId key) const;
  void exchange(TensorId key, OperationId flag) override;

  KvStoreOptions options_;
  std::unique_ptr<LocalKvStore> local_;  ///< one of them, or none
  std::unique_ptr<KvStore> servers_;
};

}  // namespace gradwire
