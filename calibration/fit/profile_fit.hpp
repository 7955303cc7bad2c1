#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/attribution/checks.hpp"
#include "calibration/trace/trace.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::calibration {

/// A program that was recorded, as whoever recorded it wrote it down.
struct Workload {
  std::string model;
  std::string gpu;        ///< as the driver names it: "NVIDIA H200"
  int batch_per_gpu = 0;  ///< 0: the launcher could not tell
  std::string dtype;
  std::string optimizer;
  std::string framework;                  ///< with its version
  std::vector<ParameterSpec> parameters;  ///< trained, in registration order
  int buffers = 0;
  std::int64_t buffer_elements = 0;
  Bytes buffer_bytes{0};                     ///< 0: not written
  std::map<std::string, std::string> facts;  ///< what else shaped the work: "image_size" -> "224"
};

/// What a profile is of, where its trace does not say.
struct ProfileSubject {
  std::string model;
  std::string gpu;
  int batch_per_gpu = 0;
  std::string dtype;
  ProfileSource source;
  Bytes optimizer_bytes_per_parameter;
  /// The model's layers without times: names, kinds, tensors and orders are then its.
  std::optional<ComputeProfile> frame;
  /// Of an iteration that nobody recorded; absent: the trace's own, if the GPU bounds it.
  std::optional<Seconds> iteration;
};

/// A profile, and what its reader should know.
struct ProfileFit {
  RecordedProfile recorded;
  std::vector<std::string> notes;
};

/// The profile that one trace gives. What DistributedDataParallel and NCCL did is taken out: their
/// records are in no layer, and the iteration is shorter by the time they held the stream or ran
/// alone.
/// @throws ConfigError naming the check and its figure when one fails, when the host bounds the
///         iteration and none is given, and when recording and frame do not agree.
/// A trace without shapes tells no parameters: without a frame the profile has none, and a note.
[[nodiscard]] ProfileFit fit_trace(const Trace& trace, const ProfileSubject& subject,
                                   const CheckBounds& bounds = {});

/// The profile of a workload that was run three times: not recorded, recorded lightly (kernels) and
/// fully (docs/calibrate.md). Layers' times are the full recording's; the iteration is the one
/// that nobody recorded, else the light one's. Parameters are the workload's; each belongs to the
/// layer that bears its name, else to the one whose backward ran before its gradient's mark.
/// @param uninstrumented  times of iterations, may be empty.
/// @param light           nullptr: was not recorded; light_vs_full and full_vs_light stay absent.
/// @throws ConfigError as fit_trace(), and when a parameter belongs to no layer.
[[nodiscard]] ProfileFit fit_recording(const Workload& workload,
                                       const std::vector<Seconds>& uninstrumented,
                                       const Trace* light, const Trace& full,
                                       const ProfileSource& source, const CheckBounds& bounds = {});

/// Median over the kernels of one iteration of what each takes in `full` over what it takes in
/// `light`, both medians over the iterations. Absent when their sequences of kernels differ.
[[nodiscard]] std::optional<double> kernel_ratio(const Trace& full, const Trace& light);

/// Time from an iteration's first kernel to the next's, of a trace without operators: from the
/// sequence of kernels that repeats, else from the iteration marks. Empty when there are neither.
[[nodiscard]] std::vector<Seconds> iteration_times(const Trace& trace);

}  // namespace gradwire::calibration
