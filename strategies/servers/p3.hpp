#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "strategies/servers/kv_store.hpp"

namespace gradwire {

/// Priority-based parameter propagation: gradients are cut into slices, slices of layers near the
/// input overtake the others wherever they wait (worker, server, way back), servers send a value as
/// soon as all workers' slices are in it, and a layer's forward pass waits for its own parameters.
///
/// Source: Jayarajan et al., Priority-based Parameter Propagation for Distributed DNN Training,
/// MLSys 2019; apache/mxnet src/kvstore/p3store_dist.h (slices round robin over
/// servers).
class P3 final : public Strategy {
 public:
  struct Options {
    std::int64_t slice_size = 50000;  ///< parameters
    KvStoreOptions store;
  };
  P3(const Options& options, const JobView& job);
  P3(const P3&) = delete;
  P3& operator=(const P3&) = delete;
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Slice {
    TensorId tensor = 0;
    int part = 0;
    std::int64_t elements = 0;
    int server = 0;
  };
  void gradient_hook(TensorId tensor);
  void send(TensorId tensor, OperationId flag);

  Options options_;
  JobView job_;
  Poster poster_;
  KvStore store_;
  LayerGates gates_;
  std::vector<std::vector<Slice>> slices_;  ///< by tensor
};

}  // namespace gradwire
