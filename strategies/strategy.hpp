#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Numbers a strategy's operations from 0 in the order it posts them, over the whole run.
using OperationId = std::int64_t;

// ---- events: what a strategy is told ----------------------------------------------------------

/// A class of workers starts iteration `iteration` (from 0).
struct IterationStart {
  int iteration = 0;
};
/// The launcher thread has launched the kernels of this tensor's gradient and runs its hook; what
/// the hook launches stands right behind the gradient kernel on the compute stream.
struct HookFired {
  TensorId tensor = 0;
  int micro_batch = 0;  ///< 0-based, of `JobView::micro_batches`
};
/// The launcher thread has launched all of this micro-batch's backward.
struct BackwardDone {
  int micro_batch = 0;
};
/// An operation of the strategy has ended on every participant.
struct OperationDone {
  OperationId operation = 0;
};
using Event = std::variant<IterationStart, HookFired, BackwardDone, OperationDone>;

// ---- operations: what a strategy asks for -----------------------------------------------------

/// What device work is for; decides its row in the trace and its part of the breakdown.
enum class WorkKind : std::uint8_t { copy, encode };

/// Kernels on the compute stream, in the order posted: behind everything launched so far.
/// Priced by the GPU: kernels * overhead + traffic / reachable memory bandwidth.
struct DeviceWork {
  WorkKind kind = WorkKind::copy;
  Bytes traffic{0};  ///< bytes read plus bytes written in device memory
  int kernels = 1;
  std::string label;
};
/// A collective over all ranks on the communication stream, in the order posted (strict). It is
/// ready on a rank when everything launched so far on that rank's compute stream has ended, and
/// starts when the last rank is ready; until then the early ranks' kernels spin.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{0};
  std::vector<TensorId> tensors;  ///< what it carries, for the plan and the trace
  std::string label;
};
/// The compute stream waits here until these operations have ended: what is launched next (the
/// forward pass, copies, the optimizer) starts behind it.
struct Gate {
  std::vector<OperationId> until;
};
using Operation = std::variant<DeviceWork, Collective, Gate>;
using Operations = std::vector<Operation>;

// ---- the seam ---------------------------------------------------------------------------------

/// What a strategy may know of the job. Tensors in registration order; the gradient dtype is fp32.
struct JobView {
  int world_size = 1;
  int micro_batches = 1;  ///< backward passes per optimizer step
  std::vector<TensorInfo> tensors;
  std::vector<TensorId> gradient_order;
  std::int64_t buffer_elements = 0;  ///< of non-trainable state: batch-norm statistics, counters
  int buffer_tensors = 0;            ///< that hold them

  /// Gradients are exchanged in the last backward pass before the optimizer step.
  [[nodiscard]] bool synchronises(int micro_batch) const {
    return micro_batch + 1 == micro_batches;
  }
};
constexpr std::int64_t gradient_element_size = 4;  ///< bytes, fp32

[[nodiscard]] constexpr Bytes gradient_size(const TensorInfo& tensor) {
  return Bytes{tensor.elements * gradient_element_size};
}

/// One elementwise kernel that reads and writes a gradient once.
[[nodiscard]] inline DeviceWork copy_of(const TensorInfo& tensor, std::string label) {
  return {.traffic = 2 * gradient_size(tensor), .label = std::move(label)};
}

/// Buckets or groups in launch order, for `show plan` and the tests.
struct PlanGroup {
  std::vector<TensorId> tensors;
  std::int64_t elements = 0;
  Bytes size{0};  ///< bytes that the collective moves
};

/// Decides which gradients travel together and when.
///
/// Events in, operations out. Pure: no clock but the stamp `now`, no I/O, no engine. The same
/// events give the same operations, always. Operation ids count the returned operations from 0 in
/// order.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// @param now  time of the event since the start of the run, on the class's first member.
  /// @return operations to post, in order.
  virtual Operations on_event(Seconds now, const Event& event) = 0;

  /// The kinds of collective it may post, so that they are planned before the run.
  [[nodiscard]] virtual std::vector<CollectiveKind> collectives() const {
    return {CollectiveKind::all_reduce};
  }

  /// The groups it forms in `iteration`.
  [[nodiscard]] virtual std::vector<PlanGroup> plan(int iteration) const = 0;
};

}  // namespace gradwire
