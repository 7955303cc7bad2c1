#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/horovod/horovod_queue.hpp"
#include "strategies/servers/kv_store.hpp"
#include "strategies/servers/layerwise_strategy.hpp"

namespace gradwire {

/// ByteScheduler's environment variables without their prefix, and what its Python costs.
struct ByteSchedulerOptions {
  std::string mode = "allreduce";    ///< or "ps"
  std::int64_t partition = 1000000;  ///< BYTESCHEDULER_PARTITION, parameters
  std::int64_t credit = 4000000;     ///< BYTESCHEDULER_CREDIT, parameters
  Seconds task_time{};               ///< of the scheduler's thread, to start a part
  Seconds poll_time{};               ///< a turn of the poller: one event of its queue
  Seconds update_time{};             ///< of the poller, to run the optimizer for a parameter
  Seconds compare_time{};            ///< one comparison of names in its search for the parameter
  Seconds gil_wait{};  ///< of the launcher, per hook and layer, while the poller turns
  HorovodOptions horovod;
  KvStoreOptions store;
};

/// How many elements each part of a tensor has: none larger than `partition`, as even as rows
/// (dimension 0) can be dealt, and never more parts than rows.
/// Source: bytescheduler/pytorch/horovod_task.py, _partition_tensor.
[[nodiscard]] std::vector<std::int64_t> parts_of_rows(const TensorInfo& tensor,
                                                      std::int64_t partition);

/// ByteScheduler: tensors are cut along dimension 0; the most urgent ready part (front layers
/// first) starts while there is credit, which may go below zero; a layer's forward pass waits for
/// its own parameters.
///
/// allreduce (PyTorch over Horovod): rank 0 schedules; the others have handed their parts to
/// Horovod, whose negotiation waits for rank 0. One Python thread polls all events in turn,
/// updates each parameter by itself and finds it by comparing names; it shares the interpreter's
/// lock with the thread that launches kernels. The search of the credit is `gradwire tune`'s.
/// ps (MXNet's KVStore): a part is pushed and pulled; its credit comes back with the end of the
/// push; before it a key of its own is pushed as a barrier.
///
/// Source: bytedance/byteps, branch bytescheduler, bytescheduler/{common/bytecore,common/bytetask,
/// pytorch/horovod,pytorch/horovod_task,mxnet/kvstore_task}.py; Peng et al., SOSP 2019.
class ByteScheduler final : public LayerwiseStrategy {
 public:
  ByteScheduler(const ByteSchedulerOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Part {
    TensorId tensor = 0;
    int index = 0;
    std::int64_t elements = 0;
  };
  /// One exchange of a tensor: it may outlive its iteration.
  struct Flight {
    std::size_t missing = 0;  ///< parts
    OperationId flag = -1;    ///< raised when the parameter is up to date
  };
  /// A part on its way.
  struct Move {
    std::size_t part = 0;
    std::shared_ptr<Flight> flight;
  };

  void gradient(TensorId tensor, WorkerId worker) override;
  void forward(int layer, WorkerId worker) override;
  void ended(OperationId operation) override;
  void exchange(TensorId tensor, OperationId flag) override;
  void launcher_waits(Seconds time);
  void ready(TensorId tensor, const std::shared_ptr<Flight>& flight);
  void schedule();
  void start(const Move& move);
  void push_pull(const Move& move);
  void notice(Poster::Then then);
  void return_credit(std::int64_t elements);
  void finished(const Move& move);
  [[nodiscard]] bool all_reduces() const { return options_.mode == "allreduce"; }
  [[nodiscard]] bool active() const override { return !all_reduces() || job_.world_size > 1; }

  ByteSchedulerOptions options_;
  std::optional<HorovodQueue> horovod_;  ///< allreduce
  std::unique_ptr<KvStore> store_;       ///< ps
  std::vector<Part> parts_;
  std::vector<std::vector<std::size_t>> parts_of_;  ///< by tensor
  std::int64_t credit_ = 0;
  std::int64_t posted_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Move> ready_;  ///< by priority, then age
  std::map<RequestName, Move> under_way_;                        ///< by Horovod's name: the part
  std::int64_t watched_ = 0;                                     ///< events in the poller's queue
};

}  // namespace gradwire
