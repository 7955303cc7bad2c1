#pragma once

#include <string_view>
#include <vector>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// What the name of a range says about the work inside it.
struct RangeMeaning {
  bool operation = false;      ///< an operator of the framework: "aten::conv2d"
  bool backward = false;       ///< a node of the autograd graph
  bool accumulate = false;     ///< the node that adds into a parameter's gradient
  bool optimizer = false;      ///< the optimizer's step
  bool wrapper = false;        ///< work of DistributedDataParallel: copies to and from buckets
  bool model_call = false;     ///< DistributedDataParallel's forward
  bool module = false;         ///< a module's forward; module_name() tells which
  bool loss = false;           ///< a loss function
  bool plain_copy = false;     ///< copies and concatenations, as a wrapper makes them
  bool iteration = false;      ///< one training step
  bool communication = false;  ///< a device record: a kernel of a communication library
};

/// Meanings by NameId. The names are those of PyTorch 1.8 to 2.11 (its profiler and emit_nvtx),
/// of Kineto's nn.Module ranges and of our own launcher ("gradwire.fwd:", "gradwire.optimizer").
[[nodiscard]] std::vector<RangeMeaning> range_meanings(const NameTable& names);

/// "layer1.0.conv1" of "gradwire.fwd:layer1.0.conv1"; "Conv2d_3" of "nn.Module: Conv2d_3"; "" for
/// any other name.
[[nodiscard]] std::string_view module_name(std::string_view range);

/// A gradient that became ready, as a mark tells it: "gradwire.grad:fc.bias:1000:float32".
struct GradientName {
  std::string_view parameter;
  std::int64_t elements = 0;
};
/// Absent parameter name: the mark says something else.
[[nodiscard]] GradientName gradient_name(std::string_view mark);

/// Whether the mark begins an iteration: "gradwire.iteration:7".
[[nodiscard]] bool begins_iteration(std::string_view mark);

}  // namespace gradwire::calibration
