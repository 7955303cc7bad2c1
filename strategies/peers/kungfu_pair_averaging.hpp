#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "strategies/parts/lane.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/peers/kungfu_host.hpp"

namespace gradwire {

struct PairAveragingOptions {
  bool fuse = true;        ///< fuse_requests: variables are copied into one tensor
  std::uint64_t seed = 1;  ///< of the draws of peers
  /// Of the local store's copy of the model; that a core copies as fast as it adds is assumed.
  BytesPerSecond copy_rate{0};
  KungfuHostOptions host{};
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
/// Unfused, there is a request for each variable: the answers follow one another on the peer's one
/// connection, and each is loaded and averaged by itself, as each is saved. Within a machine a
/// model passes a unix socket, of which the peer that is asked serves as many at a time as it has
/// cores, at what KungfuHost says with every process of the machine writing and reading.
///
/// Source: lsds/KungFu, srcs/python/kungfu/tensorflow/optimizers/async_sgd.py:71-142;
/// srcs/go/rchannel/handler/p2p.go (a connection a pair of peers).
class KungfuPairAveraging final : public StepStrategy {
 public:
  KungfuPairAveraging(const PairAveragingOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override {
    return {.dynamic = true, .independent_workers = true, .exactness = Exactness::stale};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Worker {
    Worker(Poster& poster, Lane::Make ask, WorkerId id);

    OperationId averaged = 0;    ///< flag
    OperationId saved = 0;       ///< flag
    std::size_t to_average = 0;  ///< parts of the model under way
    std::size_t to_save = 0;     ///< the same
    int asked = 0;               ///< the peer that it asks
    int core = 0;                ///< of that peer, which serves its socket
    std::vector<int> served{};   ///< sockets under way at each of its own cores
    Lane save;                   ///< GPU to host
    Lane answers;                ///< the connection or socket of the peer that it asks
    Lane load;                   ///< host to GPU
  };

  void begin(int iteration, WorkerId id) override;
  void finish(WorkerId id) override;
  void save(WorkerId id, const PlanGroup& part);
  void ask(WorkerId id, const PlanGroup& part);
  void average(WorkerId id, const PlanGroup& part);
  [[nodiscard]] Operation answer(WorkerId id, const LaneItem& item);
  [[nodiscard]] bool on_one_machine(WorkerId one, WorkerId other) const;
  /// The peer that a worker asks; where few stand for all, who stands for it.
  [[nodiscard]] int peer_of(int iteration, WorkerId id) const;
  /// The exchange that carries a model from a machine to a rank.
  [[nodiscard]] int request(int machine, int asking) const;

  PairAveragingOptions options_;
  std::vector<PlanGroup> parts_;  ///< of the model, that are asked for by themselves
  std::vector<int> first_ranks_;  ///< of each machine
  int machines_ = 0;
  std::vector<int> place_of_;  ///< of a machine among those with ranks; -1: it has none
  KungfuHost host_;
  std::deque<Worker> workers_;
};

}  // namespace gradwire
