#pragma once

#include <cstdint>
#include <vector>

#include "strategies/servers/kv_store.hpp"
#include "strategies/servers/layerwise_strategy.hpp"

namespace gradwire {

/// Priority-based parameter propagation: gradients are cut into slices, slices of layers near the
/// input overtake the others wherever they wait (worker, server, way back), servers send a value as
/// soon as all workers' slices are in it, and a layer's forward pass waits for its own parameters.
///
/// Source: Jayarajan et al., Priority-based Parameter Propagation for Distributed DNN Training,
/// MLSys 2019; apache/mxnet src/kvstore/p3store_dist.h (slices round robin over
/// servers).
class P3 final : public LayerwiseStrategy {
 public:
  struct Options {
    std::int64_t slice_size = 50000;  ///< parameters
    KvStoreOptions store;
  };
  P3(const Options& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return store_.collectives();
  }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override { store_.visit_exchanges(visit); }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Slice {
    TensorId tensor = 0;
    int part = 0;
    std::int64_t elements = 0;
    int server = 0;
  };
  void exchange(TensorId tensor, OperationId flag) override;

  Options options_;
  KvStore store_;
  std::vector<std::vector<Slice>> slices_;  ///< by tensor
};

}  // namespace gradwire
