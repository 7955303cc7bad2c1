#pragma once

#include <optional>

#include "strategies/knobs.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Knobs of DeAR's optimizer under their own names.
struct DearOptions {
  Bytes threshold{25LL * 1024 * 1024};     ///< THRESHOLD = 25, in units of 2^20 bytes
  std::optional<int> num_nearby_layers{};  ///< modules a group, instead of the threshold; -1: all
  bool exclude_reducescatter = false;
  bool exclude_allgather = false;
};

/// DeAR: the all-reduce in two halves. Backward: a group of modules is reduce-scattered when the
/// last of its gradients has been copied into its buffer. step() waits for all reduce-scatters and
/// starts the all-gather of the first group. Forward: the first module of a group waits for the
/// group's all-gather and starts that of the next group; every module copies its gradients out of
/// the buffer, divides them, and updates its own parameters.
///
/// Groups are of modules in forward order, padded so that each rank gets the same share: by
/// P - n mod P elements, which is P more when P divides n. Parts may be left out, as the original
/// does to time the others: without "reducescatter" no gradient is copied or scattered, without
/// "allgather" nothing waits in the forward pass and no parameter is updated. In both cases step()
/// gathers the first group all the same, as the original's _bp_barrier does.
///
/// The origin has no accumulation; here only the last backward pass communicates, and the update
/// comes with the first forward pass. On one rank there is no communication.
///
/// Source: lzhangbv/dear_pytorch 43138d8, dear/dear_dopt.py (_generate_groups_with_threshold,
/// _get_pad_tensor, _push_to_buffer, _forward_pre_hook, _update_one_module, _bp_barrier); Zhang et
/// al., DeAR, ICDCS 2023. As written, that code's waits (comm_core, Communicator::synchronize) are
/// for events on the library's own stream; what is followed here is what they stand for.
class Dear final : public SharedStepStrategy {
 public:
  Dear(const DearOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Module {
    int layer = 0;
    std::vector<TensorId> tensors;
    std::int64_t elements = 0;
    int group = 0;
  };
  struct Group {
    std::vector<TensorId> tensors;
    std::int64_t elements = 0;
    Bytes size{0};  ///< padded
    int first_layer = 0;
    int missing = 0;             ///< gradients not yet in the buffer
    OperationId scattered = -1;  ///< reduce-scatter of this iteration
    OperationId gathered = -1;
    OperationId flag = -1;  ///< ends with the all-gather, where forward came first
  };

  void begin(int iteration, WorkerId worker) override;
  void forward(int layer, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void make_modules();
  void make_groups();
  void wait_for_gather(Group& group);
  void update(const Module& module);
  void scattered();
  void gathered();
  void start_gathers();
  void gather_next();
  /// Starts the next group's, where the one before has ended and forward has come to it.
  void gather_ahead();

  DearOptions options_;
  std::vector<Module> modules_;  ///< forward order
  std::vector<Group> groups_;    ///< forward order
  std::vector<int> group_of_;    ///< by tensor
  std::int64_t elements_ = 0;
  bool updates_ = false;      ///< a step has been taken: forward passes wait and update
  bool stepped_ = false;      ///< step() waits for the reduce-scatters
  int scattering_ = 0;        ///< reduce-scatters in flight
  std::size_t posted_ = 0;    ///< all-gathers posted since the last step
  std::size_t gathered_ = 0;  ///< of them, ended
  std::size_t entered_ = 0;   ///< groups that forward has come to
};

}  // namespace gradwire
