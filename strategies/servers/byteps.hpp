#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/lane.hpp"
#include "strategies/parts/layer_gates.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/servers/byteps_partitions.hpp"
#include "strategies/servers/parameter_server.hpp"

namespace gradwire {

/// BytePS: gradients are cut into partitions, and each goes by itself through the stages REDUCE
/// (NCCL reduce-scatter among the GPUs of a PCIe switch), COPYD2H, PCIE_REDUCE (a CPU adds the
/// switches' buffers), PUSH, the server's sum, PULL, COPYH2D and BROADCAST (NCCL all-gather). On
/// one machine PUSH is only a barrier, and there is no PULL; on one machine of one switch only
/// REDUCE and BROADCAST are left.
///
/// Every stage is a thread; copies go one partition at a time, NCCL takes what is ready in groups,
/// a connection carries its pushes (pulls) in order, small ones that wait together up to a
/// partition. All worker machines move a key at the same time: its pushes arrive together, so the
/// server's heap (server_enable_schedule), which takes complete keys oldest first, and its FIFO are
/// one. With reduce_roots a partition is on one GPU of a machine, which copies it, beside those
/// that copy other partitions.
///
/// Asynchronous: BytePsAsync.
///
/// Source: bytedance/byteps, byteps/common/{operations,core_loops,scheduled_queue,nccl_manager,
/// global}.cc, byteps/server/server.cc, byteps/torch/{__init__,cross_barrier}.py; `threshold`: the
/// merging of ddl-benchmarks, byteps/byteps_distributed_optimizer.py.
class BytePs final : public SharedStepStrategy {
 public:
  /// @throws UnsupportedConfiguration where reduce_roots names no rank of a machine, or where a
  /// machine has several PCIe switches beside them, as its origin.
  BytePs(const BytePsOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] std::vector<Warning> warnings() const override {
    return byteps_warnings(options_, layout_);
  }

 private:
  /// Host threads: one a stage, then the servers'.
  enum Thread : int {
    nccl_thread,
    d2h_thread,
    sum_thread,
    push_thread,
    pull_thread,
    h2d_thread,
    poller_thread,
    first_server_thread
  };

  /// One exchange of a unit: it may outlive its iteration.
  struct Flight {
    std::size_t unit = 0;
    std::size_t parts = 0;  ///< partitions under way
    OperationId flag = -1;  ///< raised at the end, with the cross barrier
  };
  using FlightPtr = std::shared_ptr<Flight>;
  /// A partition on its way.
  struct Move {
    std::size_t task = 0;
    FlightPtr flight;
  };
  /// What the root launches as one NCCL group; its events are waited for as a whole, in the order
  /// of groups.
  struct NcclGroup {
    std::vector<Move> reduce{};
    std::vector<Move> broadcast{};
    int missing = 1;  ///< calls under way, and the launch
  };

  void begin(int iteration, WorkerId worker) override;
  void forward(int layer, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void ready(const FlightPtr& flight);
  void run_nccl();
  bool launch_nccl_group();
  void post_nccl_group(std::int64_t number);
  void post_nccl_calls(std::int64_t number, const std::vector<Move>& moves, bool reduces);
  void end_nccl_groups();
  [[nodiscard]] NcclGroup& nccl_group(std::int64_t number) {
    return nccl_groups_[static_cast<std::size_t>(number - first_nccl_group_)];
  }
  void stage(int thread, const Move& move, Poster::Then then);
  void reduced(const Move& move);
  void to_server(const Move& move);
  void summed(const Move& move);
  void pulled(const Move& move);
  void broadcast(const Move& move);
  void finished(const Move& move);
  [[nodiscard]] ParameterServerSpec server_spec() const;
  [[nodiscard]] bool distributed() const;
  [[nodiscard]] bool local() const { return layout_.part_size(options_.part()) > 1; }
  [[nodiscard]] bool several_switches() const { return layout_.other_parts(options_.part()) > 0; }
  [[nodiscard]] bool through_host() const { return distributed() || several_switches(); }
  [[nodiscard]] bool scatters() const { return options_.reduce_roots.empty(); }
  void check_roots() const;
  [[nodiscard]] LaneItem item(const Move& move, const std::string& what, Poster::Then then) const;
  [[nodiscard]] const BytePsTask& task(const Move& move) const { return tasks_[move.task]; }

  BytePsOptions options_;
  ServerLayout layout_;
  Bytes bound_;                    ///< of a partition
  std::vector<BytePsUnit> units_;  ///< in the order in which they become ready
  std::vector<BytePsTask> tasks_;
  GradientGroups groups_;  ///< the units' tensors
  LayerGates gates_;

  std::deque<Lane> to_host_;  ///< by root
  Lane pcie_reduce_;
  std::deque<Lane> to_gpu_;  ///< by root
  std::deque<ParameterServer> servers_;
  std::deque<Move> reduce_queue_;  ///< by credit: sorted
  std::deque<Move> broadcast_queue_;
  Bytes credits_{0};
  bool nccl_busy_ = false;             ///< the thread that launches groups
  std::deque<NcclGroup> nccl_groups_;  ///< under way, oldest first
  std::int64_t first_nccl_group_ = 0;  ///< number of the oldest
  Outstanding pulled_;                 ///< units of this iteration, without the cross barrier
};

}  // namespace gradwire
