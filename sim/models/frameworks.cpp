#include "sim/models/frameworks.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "sim/core/kernel_launch.hpp"
#include "sim/models/efficiencies.hpp"

namespace gradwire {
namespace {

constexpr Seconds us(double microseconds) {
  return Seconds{1e-6 * microseconds};
}

// Eager PyTorch: from the start of an operator to the start of the next one on its thread, lower
// quartile over the five steps (a full launch queue lengthens the upper ones). The profiler's own
// cost is in them: at most 0.8 us an event (as_strided, start to start), some 3 ms of ResNet-50's
// 20. Traces of HolisticTraceAnalysis, tests/data:
//   V: ns_resolution_trace, ResNet-50, V100-SXM2, PyTorch 2 of April 2024;
//   A: trace_diff/control, a recommendation model, A100, PyTorch of 2023.
//   C: chains of a hundred like operators, forward and backward, on the host of an H200
//   (results/reference/host_operators.csv, medians), which takes 0.6 of V's and A's times for the
//   operators above: over 0.6. Attention: the mean of fp32 (48 and 140 us) and of bf16 under
//   autocast (68 and 195). A cast backward, 28 us: what a convolution channels last (28) and a
//   linear layer without bias (59 for two) take more under autocast.
// The CPUs are not stated. Checked against pytorch/benchmark#706, which no constant is taken from
// (tests/models/frameworks_test.cpp).
constexpr std::array<OperatorHost, 12> eager_operators = {{
    {"conv", us(58.0), us(92.2), us(0)},  // V: conv2d, ConvolutionBackward0, all their kernels
    // A: linear 58, AddmmBackward0 116 and TBackward0 13, less the launches of their further
    // kernels
    {"linear", us(58 - 5.2), us(116 + 13 - 2 * 5.2), kernel_launch_call},
    {"attention", us(72), us(121), us(0)},           // A: bmm, BmmBackward0
    {"flash_attention", us(97), us(279), us(0)},     // C: with the views and transposes around it
    {"batch_norm", us(63.8 + 23), us(52.8), us(0)},  // V: with the add_ that counts its batches
    {"layer_norm", us(44), us(72), us(0)},           // A
    {"act", us(28.5), us(23.0), us(28.5)},           // V: relu_; each further kernel is an operator
    {"add", us(23.0), us(6.5), us(23.0)},            // V: add_, AddBackward0
    {"pool", us(48.5), us(43.2), us(0)},             // V: max_pool2d
    {"softmax", us(28.5), us(28.5), us(0)},  // V: LogSoftmaxBackward0; forward as act (assumed)
    {"embed", us(28.5), us(28.5), kernel_launch_call},  // assumed: as softmax
    {"", us(28.5), us(23.0), us(28.5)},                 // assumed: as act
}};
/// V: AccumulateGrad with DDP's hook, 20.2 us, less the copy into the bucket, which strategies
/// post.
constexpr Seconds eager_gradient = us(20.2 - 7.8);
/// A: aten::_to_copy. Backward, C: ToCopyBackward0 and the accumulation of what it hands on.
constexpr CastHost eager_cast{us(16), us(47)};

/// K: chains of a hundred checkpointed blocks of one linear layer and of eight, in fp32, over the
/// same without checkpoint (results/reference/host_operators.csv, host h100_slow, medians: forward
/// 306 and 511 us more, backward 300 and 712 beside the forward pass), on a host that takes 0.88 of
/// V's and A's times.
constexpr CheckpointHost eager_checkpoint{.block = {us(314), us(274)},
                                          .operators = {us(33), us(67)}};

// TorchInductor without CUDA graphs. Its Triton kernels: CachingAutotuner.run with 19 arguments
// (meta-pytorch/tritonbench#1017, host of a GB200). Products stay calls of operators, without
// Python's module: the durations in the traces above.
constexpr Seconds inductor_kernel = us(9.1);
constexpr std::array<OperatorHost, 5> compiled_operators = {{
    {"conv", us(45.4), us(85.8), us(0)},
    {"linear", us(50 - 5.2), us(107 - 2 * 5.2), kernel_launch_call},
    {"attention", us(68), us(113), us(0)},
    {"flash_attention", us(68), us(113), us(0)},
    {"", inductor_kernel, inductor_kernel, us(0)},  // one kernel, whatever is in it
}};

/// TensorFlow's executor: a kernel's dispatch, half of it the launch. Assumed: its order of
/// magnitude only ("the inter-op latency of the executor can be hundreds of nanoseconds",
/// TensorFlow commit 1736e0b, before allocation and launch). PaddlePaddle's alike.
constexpr Seconds graph_operator = us(10);
constexpr std::array<OperatorHost, 1> graph_operators = {{
    {"", graph_operator, graph_operator, graph_operator},
}};
/// XLA's executable launches its kernels one after the other; between them nothing (assumed).
constexpr std::array<OperatorHost, 1> xla_operators = {{
    {"", kernel_launch_call, kernel_launch_call, kernel_launch_call},
}};

// MXNet's engine: (1 / 61.38 - 1 / 162.15) s between the inference of ResNet-152 and of ResNet-50
// at batch 1 on a V100 (apache/mxnet docs/faq/perf.md, MXNet 1.2), over the 340 operators between
// them: 30 us. What is left of training at batch 1 there (28.95 ms of ResNet-50, 45.81 of
// Inception-v3), a tensor: 115 and 95 us, KVStore and the updater in Python. These four rows are
// calibration.
constexpr Seconds mxnet_operator = us(30);
constexpr Seconds mxnet_tensor = us(105);
constexpr std::array<OperatorHost, 1> mxnet_operators = {{
    {"", mxnet_operator, mxnet_operator, us(0)},
}};

constexpr std::array<Framework, 6> known = {{
    {"pytorch-eager", "PyTorch, operator by operator from Python", Fusion::none, eager_operators,
     eager_gradient, eager_cast, us(0),
     "profiler traces of HolisticTraceAnalysis: ResNet-50 on V100, PyTorch 2; a recommendation "
     "model on A100",
     true, false, false, eager_checkpoint},
    {"pytorch-compile", "torch.compile with TorchInductor, no CUDA graphs; optimizer eager",
     Fusion::inductor, compiled_operators, eager_gradient,
     CastHost{inductor_kernel, inductor_kernel}, us(0),
     "meta-pytorch/tritonbench#1017; products as in pytorch-eager's traces", true},
    {"tf", "TensorFlow's executor of graphs", Fusion::none, graph_operators, us(0),
     CastHost{graph_operator, graph_operator}, graph_operator, "assumed: the order of magnitude",
     true, true, true},
    {"tf-xla", "TensorFlow compiled by XLA", Fusion::inductor, xla_operators, us(0),
     CastHost{kernel_launch_call, kernel_launch_call}, kernel_launch_call,
     "cudaLaunchKernel in pytorch-eager's trace; nothing between launches (assumed)", true, true},
    {"mxnet", "MXNet's engine, KVStore and updater", Fusion::none, mxnet_operators, us(0),
     CastHost{mxnet_operator, mxnet_operator}, mxnet_tensor,
     "apache/mxnet docs/faq/perf.md: batch 1 on V100, MXNet 1.2", true},
    {"paddle", "PaddlePaddle's executor of graphs", Fusion::none, graph_operators, us(0),
     CastHost{graph_operator, graph_operator}, graph_operator, "assumed: as tf"},
}};

std::string_view operator_class(const ModelLayer& layer, bool batch_norms) {
  const std::string_view work = work_class(layer);
  if (work == "norm") return batch_norms ? "batch_norm" : "layer_norm";
  const bool product = work == "linear" || work == "attention" || work == "flash_attention";
  if (layer.convolution || (is_matrix(work) && !product)) return "conv";
  return work;
}

const OperatorHost& host_of(const Framework& framework, std::string_view work) {
  const auto& operators = framework.operators;
  const auto found = std::ranges::find(operators, work, &OperatorHost::work);
  return found == operators.end() ? operators.back() : *found;
}

}  // namespace

std::span<const Framework> frameworks() {
  return known;
}

const Framework* find_framework(std::string_view name) {
  const auto* const found = std::ranges::find(known, name, &Framework::name);
  return found == known.end() ? nullptr : found;
}

bool compiles(const Framework& framework) {
  return framework.name == "pytorch-compile";
}

bool has_optimizer_steps(const Framework& framework) {
  return framework.update == Seconds{0};
}

LaunchTimes launches_of(const Framework& framework, const ModelLayer& layer,
                        const HostSetting& setting) {
  const OperatorHost& host = host_of(framework, operator_class(layer, setting.batch_norms));
  const auto called = [&](const LayerWork& work, Seconds first) {
    if (work.kernels == 0) return Seconds{0};
    return first + static_cast<double>(work.kernels - 1) * host.further;
  };
  LaunchTimes times = {.forward = called(layer.forward, host.forward),
                       .backward = called(layer.backward, host.backward)};
  const auto tensors = static_cast<double>(layer.parameters.size());
  times.backward += tensors * framework.gradient;
  const bool product = layer.convolution || is_matrix(work_class(layer));
  const double casts =
      (setting.half && product ? tensors : 0) + (setting.sums_in_fp32 && layer.casts > 0 ? 1 : 0);
  times.forward += casts * framework.cast.forward;
  times.backward += casts * framework.cast.backward;
  return times;
}

Seconds launch_of_optimizer(const Framework& framework, const OptimizerKind& optimizer,
                            StepForm step, int tensors) {
  assert(tensors >= 0);
  if (has_optimizer_steps(framework)) return host_time(optimizer, step, tensors);
  return static_cast<double>(tensors) * framework.update;
}

}  // namespace gradwire
