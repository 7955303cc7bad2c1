#pragma once

#include <memory>

#include "strategies/knobs.hpp"
#include "strategies/parts/operation_writer.hpp"

namespace gradwire {

/// Knobs of PyTorch's post-local SGD under their own names.
struct LocalSgdOptions {
  int period = 4;                ///< optimizer steps from one average of the parameters to the next
  int start_local_sgd_iter = 0;  ///< start_localSGD_iter: steps of plain DDP before
  bool post_local_gradient_allreduce = true;  ///< gradients inside each machine after that
};

/// Local SGD and post-local SGD: DDP until start_localSGD_iter; from then on gradients are
/// all-reduced inside each machine only, or not at all, and every `period` steps, counted from
/// there, the parameters are averaged over all ranks after the optimizer step: copied into one
/// buffer, divided, all-reduced; the parameters become views of it.
///
/// DDP's buckets and their copies stay, with the communication hook's own division of a bucket.
///
/// Source: torch/distributed/algorithms/ddp_comm_hooks/post_localSGD_hook.py,
/// model_averaging/averagers.py (PeriodicModelAverager), model_averaging/utils.py
/// (average_parameters), torch/distributed/optim/post_localSGD_optimizer.py; Lin et al., Don't Use
/// Large Mini-Batches, Use Local SGD, ICLR 2020.
class LocalSgd final : public Strategy {
 public:
  /// @param gradients  what DDP does with them.
  /// @throws UnsupportedConfiguration when gradients are reduced inside machines and these hold
  /// different numbers of ranks: torch.distributed.new_subgroups divides the world size evenly.
  LocalSgd(const LocalSgdOptions& options, const JobView& job, std::unique_ptr<Strategy> gradients);
  /// Reads DDP's knobs as well.
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override {
    return {.steady_from = options_.start_local_sgd_iter, .period = options_.period};
  }

 private:
  [[nodiscard]] bool is_local(int iteration) const;
  [[nodiscard]] bool averages(int iteration) const;
  /// Posts what DDP asks for under our own ids, with the collectives of this phase.
  void post(Operation operation);
  void average();

  LocalSgdOptions options_;
  JobView job_;
  std::unique_ptr<Strategy> gradients_;
  PlanGroup parameters_;
  OperationWriter out_;
  std::vector<OperationId> own_id_;  ///< of each operation of DDP's; -1: left out
  int iteration_ = 0;
};

}  // namespace gradwire
