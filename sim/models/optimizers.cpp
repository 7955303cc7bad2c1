#include "sim/models/optimizers.hpp"

#include <algorithm>
#include <array>

namespace gradwire {
namespace {

// Host times of a tensor, from PyTorch 2's trace of ResNet-50 with SGD, momentum and weight decay
// on a V100 (HolisticTraceAnalysis, tests/data/ns_resolution_trace; 161 tensors, the profiler's own
// cost included; its CPU is not stated). A step takes 904 us, of which three foreach calls are 328.
constexpr Seconds collecting{3.6e-6};     ///< its lists of tensors: (904 - 328) us / 161
constexpr Seconds foreach_call{0.68e-6};  ///< 328 us / 3 / 161
constexpr Seconds zeroing{1.0e-6};        ///< zero_grad() to None: 164 us / 161
/// The fused call: 58 us for 100 tensors (pytorch/pytorch#129350, RTX 3070, PyTorch 2.3).
constexpr Seconds fused_call{0.58e-6};
/// SGD one by one: 6.28 ms for the 314 tensors of ResNet-101 (pytorch/pytorch#45408, 2020).
constexpr Seconds sgd_loop{20e-6};
/// AdamW one by one: 647 us for 10 tensors on an A100 (pytorch/pytorch#120308, 2024); Adam alike.
constexpr Seconds adam_loop{64.7e-6};
/// apex's FusedAdam: 2.485 ms for 259 tensors on an A100 (HolisticTraceAnalysis,
/// tests/data/trace_diff/control); FusedLAMB alike (assumed), and it has no other form.
constexpr Seconds apex_step{9.6e-6};

constexpr Seconds foreach_of(int calls) {
  return zeroing + collecting + static_cast<double>(calls) * foreach_call;
}

constexpr Seconds fused_step = zeroing + collecting + fused_call;

// On a host (torch/optim/sgd.py, _single_tensor_sgd): weight decay makes a new gradient (12), the
// momentum is scaled and added to (8, 12), the parameter updated (12). Of adam.py lerp_ (12), mul_
// and addcmul_ (8, 12), root, quotient and sum (8 each), addcdiv_ (16); AdamW scales the parameter
// (8) before. LAMB as AdamW, and reads weight and update for its norms (assumed: torch.optim has
// none).
constexpr HostStep sgd_on_host{24, 12, 0, false};
constexpr HostStep momentum_on_host{44, 20, 4, false};
constexpr HostStep adam_on_host{72, 28, 8, true};
constexpr HostStep adamw_on_host{80, 28, 8, true};
constexpr HostStep lamb_on_host{88, 36, 8, false};

}  // namespace

std::span<const OptimizerKind> optimizers() {
  // Counts of passes: a kernel that reads a and b and writes c moves 12 bytes a parameter in fp32.
  // Fused, all is read once, and what changes is written once. TensorFlow's graph: one kernel each
  // for sgd, momentum and adam (ResourceApplyAdam), to momentum a gradient of weight decay as a
  // product and a sum (20). AdamWeightDecayOptimizer of google-research's bert/optimization.py is
  // operators: both moments 7 and 9 passes, root, sum and quotient 7, decay 5, rate and difference
  // 5, three assignments 6, and clipping by the global norm 3, of 4 bytes; LAMB the norms of weight
  // and update and its ratio (4) more.
  static constexpr std::array<OptimizerKind, 5> kinds = {{
      {"sgd", 24, 12, 12,
       "weight decay (reads w, g, writes g) and update (reads w, g, writes w), counted", 0, 4,
       sgd_loop, foreach_of(2), fused_step, sgd_on_host},
      {"momentum", 35, 20, 40,
       "PyTorch SGD with momentum and weight decay: 1.109 ms for 25 557 032 parameters on a V100 "
       "at 806 GB/s (recorded profile of ResNet-50)",
       4, 4, sgd_loop, foreach_of(3), fused_step, momentum_on_host},
      {"adam", 84, 33, 28,
       "PyTorch 2.11 on an H100 at 3.08 TB/s: foreach 3.405 and 33.28 ms, fused 1.343 and "
       "13.25 ms, for 124 439 808 and 1 235 814 400 parameters (recorded by us)",
       8, 4, adam_loop, foreach_of(7), fused_step, adam_on_host},
      {"adamw", 93, 33, 168, "the same: foreach 3.800 and 37.03 ms, fused 1.338 and 13.21 ms", 8, 4,
       adam_loop, foreach_of(8), fused_step, adamw_on_host},
      {"lamb", 48, 48, 184,
       "apex FusedLAMB, counted: moments and update (28), their norms (8), step (12); assumed that "
       "nothing stays in cache",
       8, 0, apex_step, apex_step, apex_step, lamb_on_host},
  }};
  return kinds;
}

const OptimizerKind* find_optimizer(std::string_view name) {
  const auto kinds = optimizers();
  const auto found = std::ranges::find(kinds, name, &OptimizerKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

double bytes_of(const OptimizerKind& optimizer, StepForm step) {
  return step == StepForm::fused ? optimizer.fused_bytes : optimizer.bytes_per_parameter;
}

Seconds clipping_host_time(int tensors) {
  return static_cast<double>(tensors) * (collecting + 2.0 * foreach_call);
}

Seconds host_time(const OptimizerKind& optimizer, StepForm step, int tensors) {
  const Seconds each = step == StepForm::loop      ? optimizer.loop
                       : step == StepForm::foreach ? optimizer.foreach_step
                                                   : optimizer.fused;
  return static_cast<double>(tensors) * each;
}

}  // namespace gradwire
