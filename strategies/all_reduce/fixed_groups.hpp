#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

struct GroupedOptions {
  bool copies = true;           ///< gradients are copied into the buffer of their group by hooks
  bool after_backward = false;  ///< all groups are reduced after backward, not when complete
};

/// Fixed groups of gradients: an all-reduce a group, posted by the hook of its last gradient or
/// after backward; the optimizer waits for all. What compression systems put under themselves.
class Grouped final : public StepStrategy {
 public:
  /// @param groups  those of an iteration; every tensor is in exactly one.
  Grouped(std::function<TensorGroups(int iteration)> groups, const GroupedOptions& options,
          const JobView& job);

  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void reduce(std::size_t index);

  std::function<TensorGroups(int iteration)> groups_of_;
  GroupedOptions options_;
  GradientGroups groups_;
  std::vector<OperationId> in_flight_;
};

/// Bulk synchronous: every gradient is copied into one buffer by its hook, and the buffer is
/// all-reduced after the last of them.
///
/// Source: ddl-benchmarks, mgwfbp/hv_distributed_optimizer.py:184-206 with the threshold 536870912
/// (one group, copies in the hook, views instead of copies back).
[[nodiscard]] std::unique_ptr<Strategy> make_bsp(const JobView& job);

/// Wait-free backpropagation: one all-reduce a tensor, in place, as soon as its gradient is ready.
///
/// Source: Poseidon (Zhang et al., ATC 2017), section 3.1; ddl-benchmarks
/// mgwfbp/hv_distributed_optimizer.py:184-206 with the threshold 0 (no merging, no copies).
[[nodiscard]] std::unique_ptr<Strategy> make_wfbp(const JobView& job);

/// With `over: horovod` the same groups travel through Horovod's thread (MergedHorovod), as
/// ddl-benchmarks ran them.
[[nodiscard]] StrategyMaker read_bsp(Knobs& knobs);
[[nodiscard]] StrategyMaker read_wfbp(Knobs& knobs);

/// Elements of a merged group in ddl-benchmarks' runs with compressors: mgwfbp/horovod_mpi_cj.sh.
constexpr std::int64_t ddl_benchmarks_threshold = 67'108'864;

/// Walks tensors in reverse registration order and closes a group once it holds at least
/// `threshold` elements, the crossing tensor included (ddl-benchmarks,
/// mgwfbp/hv_distributed_optimizer.py:184-206). 0: one group a tensor.
[[nodiscard]] TensorGroups groups_by_elements(const JobView& job, std::int64_t threshold);

}  // namespace gradwire
