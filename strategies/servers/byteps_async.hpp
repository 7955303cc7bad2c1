#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "strategies/parts/lane.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/servers/byteps_partitions.hpp"
#include "strategies/servers/parameter_server.hpp"

namespace gradwire {

/// Asynchronous BytePS (BYTEPS_ENABLE_ASYNC): the GPUs of a machine are one worker, and no worker
/// waits for another. Nothing is sent in backward: step() keeps the weights, runs the optimizer,
/// takes the difference of each weight and sends it through the stages of BytePs; the server's
/// handler, one thread, adds a push to the weights and only then acknowledges it; the pull that
/// follows is answered at once, with whatever the others have added. The next forward waits for all
/// of the machine's pulls.
///
/// The two NCCL stages are messages to the next GPU of a ring over each PCIe switch, without NCCL's
/// own latency: a strategy of asynchronous workers has no collectives.
///
/// Source: bytedance/byteps, byteps/torch/__init__.py (step, _push_pull_grad_async),
/// byteps/server/server.cc (BytePSHandler); the stages: BytePs.
class BytePsAsync final : public StepStrategy {
 public:
  /// @throws UnsupportedConfiguration on one machine, as its origin; and where some GPUs of
  /// machines that have several stand for all (JobView::stands_for).
  BytePsAsync(const BytePsOptions& options, const JobView& job);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] std::vector<Warning> warnings() const override {
    return byteps_warnings(options_, layout_);
  }
  /// Of a partition: additions by others between a machine's pull and its own next addition.
  [[nodiscard]] std::optional<double> staleness() const override;

 private:
  struct Machine {
    Machine(Poster& poster, int first_exchange, Bytes nccl_group);

    std::vector<int> ranks{};
    std::size_t ready = 0;               ///< ranks whose differences are there
    std::vector<OperationId> over{};     ///< flags of these ranks' steps
    std::size_t under_way = 0;           ///< partitions
    std::vector<std::int64_t> pulled{};  ///< by partition: additions that its last pull had
    Lane reduce;
    Lane to_host;
    Lane to_gpus;
    Lane broadcast;
    std::deque<ParameterServer> servers{};
  };
  enum class Thread : std::uint8_t { d2h, pcie_reduce, push, pull, h2d };

  void finish(WorkerId rank) override;
  void difference_ready(std::size_t machine);
  void reduced(std::size_t machine, std::size_t task);
  void on_host(std::size_t machine, std::size_t task);
  void added(std::size_t machine, std::size_t task);
  void pulled(std::size_t machine, std::size_t task);
  void machine_pulled(std::size_t machine);
  void on_thread(std::size_t machine, Thread thread, Seconds time, Poster::Then then);
  [[nodiscard]] LaneItem item(std::size_t task, const std::string& what, Poster::Then then) const;
  [[nodiscard]] int first_exchange(std::size_t machine) const;
  [[nodiscard]] bool holds_server(const Machine& machine, int server) const;
  [[nodiscard]] int switch_ranks(const Machine& machine) const;

  BytePsOptions options_;
  ServerLayout layout_;
  std::vector<BytePsUnit> units_;
  std::vector<BytePsTask> tasks_;
  Bytes model_{0};
  std::vector<std::size_t> machine_of_;  ///< by rank, index into machines_
  std::deque<Machine> machines_;
  std::vector<std::int64_t> additions_;  ///< by partition, so far
  std::int64_t updates_ = 0;             ///< of all
  std::int64_t missed_ = 0;              ///< the sum of their stalenesses
};

}  // namespace gradwire
