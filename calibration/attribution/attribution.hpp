#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/trace/trace.hpp"
#include "sim/core/compute_profile.hpp"

namespace gradwire::calibration {

/// A layer as the recorded program ran it: a call of a leaf module, or an operator that no leaf
/// module ran.
struct AttributedLayer {
  /// "layer1.0.conv1"; "layer1.0.add" of an operator that layer1.0 runs beside its parts;
  /// "conv2d.3" where the trace names no modules.
  std::string name;
  std::string op;  ///< the operator that its kind and shapes come from: "aten::conv2d"
  std::string kind;
  bool kind_is_guess = false;             ///< the trace has no shapes to tell it from
  double flops = 0;                       ///< forward, all samples; 0: unknown
  std::vector<ParameterSpec> parameters;  ///< from the operators' shapes; "weight", "bias"
};

/// A gradient that a mark told.
struct ReadyGradient {
  std::string parameter;
  std::int64_t elements = 0;
  int layer = -1;         ///< whose backward ran before it; -1: not known
  Nanoseconds ready = 0;  ///< since the start of backward on the GPU
};

/// A stretch of time on the GPU.
struct DeviceInterval {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// Device time of one iteration, by what it was for. Sums of kernels, copies and memsets.
struct IterationTimes {
  std::vector<Nanoseconds> forward;   ///< by layer
  std::vector<Nanoseconds> backward;  ///< by layer
  std::vector<Nanoseconds> ready;     ///< end of the layer's last backward kernel; 0: it has none
  Nanoseconds optimizer = 0;
  Nanoseconds other = 0;           ///< loss, zeroing of gradients, counters
  Nanoseconds wrapper = 0;         ///< DistributedDataParallel's copies
  Nanoseconds wrapper_stream = 0;  ///< the same, with the short gaps behind them
  int wrapper_records = 0;
  Nanoseconds communication = 0;         ///< kernels of collectives
  Nanoseconds exposed = 0;               ///< of which nothing else ran
  Nanoseconds unlinked = 0;              ///< launch not known; belongs to no part
  Nanoseconds busy = 0;                  ///< union of all but communication and wrapper
  Nanoseconds busy_all = 0;              ///< union of everything
  Nanoseconds start = 0;                 ///< of the first device record
  Nanoseconds end = 0;                   ///< of the last
  Nanoseconds period = 0;                ///< to the next one's start; 0: the trace has none
  Nanoseconds host = 0;                  ///< what the host took
  Nanoseconds forward_launch = 0;        ///< median host time from a layer's start to the next's
  Nanoseconds backward_launch = 0;       ///< median host time of a backward node
  std::vector<ReadyGradient> gradients;  ///< in the order of the marks
  std::vector<DeviceInterval> kernels;   ///< of layers, by start
  std::vector<int> layer_of_kernel;      ///< of each of them
  std::vector<DeviceInterval> collectives;

  [[nodiscard]] Nanoseconds layers() const;
};

/// What a trace says about the training step that it repeats.
struct Attribution {
  std::vector<AttributedLayer> layers;  ///< forward order
  std::vector<IterationTimes> iterations;
  std::string told_by;             ///< see Iterations
  std::int64_t unlinked = 0;       ///< device records of the iterations with unknown launch
  std::uint64_t dropped = 0;       ///< records that the recorder lost
  std::vector<std::string> notes;  ///< what the reader of the profile should know
};

/// Gives every device record of a trace to a layer, forward or backward, or to what else it was for
/// (docs/calibrate.md): by the ranges around its launch; backward nodes belong to the forward
/// operator that made them, which is the last on its thread that carries their sequence number.
/// Iterations that ran other layers than most are left out, and reported.
/// @throws ConfigError naming what the trace lacks when it has no iterations or no layers.
[[nodiscard]] Attribution attribute(const Trace& trace);

}  // namespace gradwire::calibration
