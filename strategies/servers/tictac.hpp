#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/layer_gates.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/servers/parameter_server.hpp"
#include "strategies/servers/server_exchanges.hpp"

namespace gradwire {

/// TensorFlow's synchronous parameter servers with TicTac: every rank pulls every variable at the
/// start of an iteration, servers send them in the order of TIC or TAC, a layer's forward pass
/// waits for its own variables; gradients are pushed as they come, servers sum and apply them, and
/// the next pulls wait until all have been applied.
///
/// Variables lie round robin over servers, whole (replica_device_setter).
/// Source: Hashemi et al., TicTac, MLSys 2019.
class TicTac final : public StepStrategy {
 public:
  struct Options {
    bool timing_aware = false;        ///< TAC in place of TIC
    int connections = 1;              ///< TCP, between a rank and a server
    std::int64_t server_threads = 4;  ///< that sum and apply; assumed
    BytesPerSecond sum_rate{0};       ///< of gradient, one thread
    BytesPerSecond loopback_bandwidth = assumed_loopback_rate;  ///< of a colocated pair
  };
  TicTac(const Options& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void forward(int layer, WorkerId worker) override;
  void gradient(TensorId id, WorkerId worker) override;
  void pull_all();
  void push(TensorId id);
  void applied();
  [[nodiscard]] ParameterServer& server_of(TensorId tensor);

  Options options_;
  ServerLayout layout_;
  LayerGates gates_;
  std::vector<int> order_;          ///< by tensor
  std::vector<OperationId> flags_;  ///< by tensor, of this iteration's pulls
  std::deque<ParameterServer> servers_;
  std::size_t to_apply_ = 0;  ///< gradients of the last iteration that are not applied
  bool pulls_wait_ = false;   ///< for them
};

}  // namespace gradwire
