#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "strategies/kungfu_session.hpp"

namespace gradwire {

struct PairAveragingOptions {
  bool fuse = true;                         ///< fuse_requests: variables are copied into one tensor
  std::uint64_t seed = 1;                   ///< of the draws of peers
  BytesPerSecond copy_rate = cpu_sum_rate;  ///< of the local store's copy of the model
  BytesPerSecond socket_rate = machine_socket_rate;  ///< of a machine, all sockets together
};

/// The peer that `worker` asks in `iteration`: uniform over all, itself replaced by the next one,
/// which so has double the chance. Depends on its arguments only.
/// Source: lsds/KungFu, optimizers/async_sgd.py, get_random_peer. REQUIRES: at least one peer.
[[nodiscard]] int random_peer(std::uint64_t seed, int iteration, int worker, int peers);

/// KungFu's PairAveragingOptimizer (async-sgd), after AD-PSGD: in each iteration a GPU asks a
/// random peer for its whole model, averages it into its own, and saves its own for others to ask
/// for. Request, computation and save have no order among them; the iteration ends when all are
/// over and the local gradients are applied. A peer answers from its host memory without being
/// asked to wait, whatever it computes.
///
/// The requests of all variables (fuse: false) are in flight together on one path and move as one.
/// Within a machine the model passes a unix socket: at `socket_rate`, all of a machine together.
///
/// Source: lsds/KungFu, srcs/python/kungfu/tensorflow/optimizers/async_sgd.py:71-142.
class KungfuPairAveraging final : public Strategy {
 public:
  KungfuPairAveraging(const PairAveragingOptions& options, JobView job);
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override {
    return {.dynamic = true, .independent_workers = true};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  enum class Stage : std::uint8_t { received, on_gpu, averaged, on_host, saved };
  struct Pending {
    Stage stage = Stage::received;
    WorkerId worker = 0;
  };
  struct Worker {
    OperationId averaged = 0;  ///< flag
    OperationId saved = 0;     ///< flag
  };

  void start_iteration(int iteration, WorkerId id);
  void advance(OperationId operation);
  void post(Stage stage, WorkerId worker, Operation operation);
  /// The machine of the peer that a worker asks.
  [[nodiscard]] int peer_machine(int iteration, WorkerId id) const;
  /// The exchange that carries a model from a machine to a rank.
  [[nodiscard]] int request(int machine, int asking) const;

  PairAveragingOptions options_;
  JobView job_;
  PlanGroup model_;
  int machines_ = 0;
  std::vector<int> place_of_;  ///< of a machine among those with ranks; -1: it has none
  double crowding_ = 1;        ///< workers of a machine for which each of these on it stands
  std::vector<Worker> workers_;
  std::unordered_map<OperationId, Pending> pending_;
  OperationWriter writer_;
};

}  // namespace gradwire
