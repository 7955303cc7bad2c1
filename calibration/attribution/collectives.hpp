#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/trace/trace.hpp"
#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"

namespace gradwire::calibration {

/// One collective that a trace saw run.
struct TracedCollective {
  std::optional<CollectiveKind> kind;  ///< absent: none that we know
  std::string operation;               ///< as the kernel or the payload names it: "AllReduce"
  std::string algorithm;               ///< "ring", "tree", ...; "" where the kernel does not tell
  std::string protocol;                ///< "ll", "ll128", "simple", or ""
  std::int64_t elements = 0;           ///< of one rank's input; 0: unknown
  std::string dtype;                   ///< "" when unknown
  Bytes bytes{0};                      ///< of one rank's input; 0: unknown
  int ranks = 0;                       ///< 0: unknown
  int channels = 0;                    ///< blocks of the kernel, one a channel
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// The collectives of a trace by start: kernels whose name begins with "nccl", with the payload
/// that the trace has for them, else the message size of the NCCL range around their launch.
[[nodiscard]] std::vector<TracedCollective> collectives_of(const Trace& trace);

/// The algorithm of NCCL's kernels on symmetric memory, which no planner of ours is.
constexpr const char* symmetric_memory = "symmetric";

/// What NCCL's kernel names say: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" since 2.19,
/// "ncclKernel_AllReduce_RING_LL_Sum_float(...)" before. Kernels on symmetric memory
/// ("ncclSymDevKernel_AllGather_ST" of 2.27, "ncclSymkDevKernel_..." since 2.28; NCCL
/// src/device/symmetric/generate.py) have the algorithm "symmetric" and no protocol.
struct KernelName {
  std::string operation;
  std::string algorithm;
  std::string protocol;
};
[[nodiscard]] KernelName split_kernel_name(std::string_view name);

/// Bytes of one element of a type as NCCL, PyTorch and Kineto write it ("Float", "f32",
/// "c10::Half"); 0: unknown.
[[nodiscard]] int element_bytes(std::string_view dtype);

}  // namespace gradwire::calibration
