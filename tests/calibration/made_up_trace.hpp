#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration::test {

constexpr Nanoseconds us = 1000;

/// Writes a trace by hand. Host work goes to a thread's clock, which each range and call moves on;
/// kernels run back to back on their stream from the moment they are launched.
class MadeUpTrace {
 public:
  Trace trace;

  MadeUpTrace() { trace.file = "made-up"; }

  /// A range around what `inside` does.
  template <class Inside>
  void range(std::uint32_t thread, const std::string& name, std::int64_t sequence, Inside inside,
             const std::string& shapes = "") {
    RangeRecord record;
    record.start = clock(thread);
    record.name = trace.names.id(name);
    record.domain = trace.names.id("");
    record.thread = thread;
    record.sequence = sequence;
    record.external = ++external_;
    if (!shapes.empty()) record.shapes = trace.names.id(shapes);
    clock(thread) += us;
    inside();
    clock(thread) += us;
    record.end = clock(thread) - 1;
    trace.ranges.push_back(record);
  }

  /// A kernel that takes `duration`, launched now. @return its correlation.
  std::uint32_t kernel(std::uint32_t thread, const std::string& name, Nanoseconds duration,
                       std::uint32_t stream = 7) {
    const std::uint32_t correlation = ++correlation_;
    const Nanoseconds now = clock(thread);
    trace.calls.push_back({now, now + us, trace.names.id("cudaLaunchKernel"), correlation, thread});
    clock(thread) += us;
    DeviceRecord record;
    Nanoseconds& free = stream_[stream];
    record.start = std::max(free, now + us);
    record.end = free = record.start + duration;
    record.name = trace.names.id(name);
    record.correlation = correlation;
    record.stream = stream;
    trace.device.push_back(record);
    return correlation;
  }

  /// What is launched on `stream` from now on waits for what was launched on `other`.
  void wait(std::uint32_t stream, std::uint32_t other) {
    stream_[stream] = std::max(stream_[stream], stream_[other]);
  }

  void mark(std::uint32_t thread, const std::string& name) {
    trace.marks.push_back({clock(thread), trace.names.id(name), 0, thread});
    clock(thread) += us;
  }

  /// The host waits for the GPU, all threads then go on together.
  void synchronise() {
    Nanoseconds latest = 0;
    for (const Nanoseconds time : thread_) latest = std::max(latest, time);
    for (const Nanoseconds time : stream_) latest = std::max(latest, time);
    for (Nanoseconds& time : thread_) time = latest;
  }
  /// All threads go on at the latest of their clocks.
  void meet() {
    Nanoseconds latest = 0;
    for (const Nanoseconds time : thread_) latest = std::max(latest, time);
    for (Nanoseconds& time : thread_) time = latest;
  }

  [[nodiscard]] Nanoseconds& clock(std::uint32_t thread) { return thread_[thread]; }

 private:
  std::vector<Nanoseconds> thread_ = std::vector<Nanoseconds>(4, 10 * us);
  std::vector<Nanoseconds> stream_ = std::vector<Nanoseconds>(64, 0);
  std::uint32_t correlation_ = 0;
  std::uint64_t external_ = 0;
};

/// What a step of the toy does beside its layers.
struct ToyOptions {
  bool modules = false;  ///< ranges of modules and marks of gradients, as our launcher makes them
  bool wrapper = false;  ///< inside DistributedDataParallel: copies into buckets, an all-reduce
  bool sequences = true;
  bool shapes = false;
  Nanoseconds host_pause = 0;  ///< at the end of each step, the GPU idle
  bool engine_numbers =
      true;                  ///< the engine's ranges bear the nodes' numbers; emit_nvtx: theirs do
  bool loss_inside = false;  ///< with modules: the model computes its loss
  Nanoseconds longer = 0;    ///< the linear layer's forward takes so much longer
};

/// One training step of conv -> batch norm -> linear on thread 0, backward on thread 1:
///   forward   conv 100 us + 20 us, norm 30 us (its counter 2 us: other), linear 60 us
///   loss      5 us forward, 4 us backward: other
///   backward  linear 50 + 70 us, norm 40 us, conv 150 us; adding the bias's gradient 6 us (linear)
///   optimizer 10 us
/// With the wrapper: a copy of 3 us for each of 5 gradients, one all-reduce of 500 us on stream 20,
/// between the last gradient and the optimizer.
inline void toy_step(MadeUpTrace& made, std::int64_t first, const ToyOptions& options = {}) {
  const auto sequence = [&](std::int64_t offset) {
    return options.sequences ? first + offset : no_sequence;
  };
  const auto module = [&](const std::string& name, auto inside) {
    if (options.modules) {
      made.range(0, "gradwire.fwd:" + name, no_sequence, inside);
    } else {
      inside();
    }
  };
  const auto ready = [&](const std::string& parameter, const std::string& elements) {
    if (options.modules) made.mark(1, "gradwire.grad:" + parameter + ":" + elements + ":float32");
    if (options.wrapper) {
      made.range(1, "torch::distributed::reducer::mul_out", no_sequence,
                 [&] { made.kernel(1, "mul", 3 * us); });
    }
  };
  const auto text = [&](const char* shapes) { return options.shapes ? shapes : ""; };
  const auto forward = [&] {
    module("conv", [&] {
      made.range(
          0, "aten::conv2d", sequence(0),
          [&] {
            made.range(0, "aten::convolution", sequence(0), [&] {
              made.kernel(0, "prepare", 20 * us);
              made.kernel(0, "winograd", 100 * us);
            });
          },
          text("[[8, 3, 4, 4], [6, 3, 3, 3], []]"));
    });
    module("bn", [&] {
      // Makes no node: it bears the number that the norm then takes.
      made.range(0, "aten::add_", sequence(1), [&] { made.kernel(0, "add", 2 * us); });
      made.range(
          0, "aten::batch_norm", sequence(1), [&] { made.kernel(0, "bn_fw", 30 * us); },
          text("[[8, 6, 4, 4], [6], [6], [6], [6]]"));
    });
    module("fc", [&] {
      made.range(
          0, "aten::linear", no_sequence,
          [&] {
            made.range(0, "aten::t", sequence(2), [] {});
            made.range(0, "aten::addmm", sequence(3),
                       [&] { made.kernel(0, "gemm", 60 * us + options.longer); });
          },
          text("[[8, 96], [10, 96], [10]]"));
    });
  };
  const auto loss = [&] {
    made.range(0, "aten::cross_entropy_loss", sequence(4), [&] { made.kernel(0, "loss", 5 * us); });
  };
  if (options.wrapper) {
    made.range(0, "DistributedDataParallel.forward", no_sequence, forward);
  } else if (options.loss_inside) {
    made.range(0, "gradwire.fwd:Net", no_sequence, [&] {
      forward();
      loss();
    });
  } else {
    forward();
  }
  if (!options.loss_inside) loss();
  made.meet();
  const auto node = [&](const std::string& name, std::int64_t offset, auto inside) {
    made.range(1, "autograd::engine::evaluate_function: " + name,
               options.engine_numbers ? sequence(offset) : no_sequence,
               [&] { made.range(1, name, sequence(offset), inside); });
  };
  const auto accumulate = [&](const std::string& parameter, const std::string& elements,
                              Nanoseconds work) {
    made.range(1, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
               no_sequence, [&] {
                 if (work > 0) made.kernel(1, "accumulate", work);
                 ready(parameter, elements);
               });
  };
  node("LogSoftmaxBackward0", 4, [&] { made.kernel(1, "loss_bw", 4 * us); });
  node("AddmmBackward0", 3, [&] {
    made.kernel(1, "gemm_dgrad", 50 * us);
    made.kernel(1, "gemm_wgrad", 70 * us);
  });
  accumulate("fc.bias", "10", 6 * us);
  node("TBackward0", 2, [] {});
  accumulate("fc.weight", "960", 0);
  node("CudnnBatchNormBackward0", 1, [&] { made.kernel(1, "bn_bw", 40 * us); });
  accumulate("bn.weight", "6", 0);
  accumulate("bn.bias", "6", 0);
  node("ConvolutionBackward0", 0, [&] { made.kernel(1, "conv_wgrad", 150 * us); });
  accumulate("conv.weight", "162", 0);
  if (options.wrapper) {
    made.wait(20, 7);
    const std::uint32_t correlation =
        made.kernel(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", 500 * us, 20);
    made.trace.collectives.push_back(
        {correlation, made.trace.names.id("allreduce"), 1144, made.trace.names.id("Float"), 2});
    made.wait(7, 20);
  }
  made.meet();
  made.range(0, "Optimizer.step#SGD.step", no_sequence, [&] { made.kernel(0, "sgd", 10 * us); });
  made.meet();
}

/// Steps one after the other, the host ahead of the GPU.
inline Trace toy_trace(int steps, const ToyOptions& options = {}) {
  MadeUpTrace made;
  for (int i = 0; i < steps; ++i) {
    made.mark(0, "gradwire.iteration:" + std::to_string(i));
    const Nanoseconds start = made.clock(0);
    toy_step(made, 100 * i, options);
    if (options.host_pause > 0) {
      made.synchronise();
      made.clock(0) += options.host_pause;
      made.meet();
    }
    RangeRecord step;
    step.start = start;
    step.end = made.clock(0);
    step.name = made.trace.names.id("ProfilerStep#" + std::to_string(i));
    made.trace.ranges.push_back(step);
  }
  return std::move(made.trace);
}

}  // namespace gradwire::calibration::test
