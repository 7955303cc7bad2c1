#pragma once

#include <string>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// Reads an execution trace of PyTorch (torch.profiler.ExecutionTraceObserver; schema 1.0.1 to
/// 1.1.0, JSON, plain or gzip): operators with their shapes, sequence numbers and threads. It holds
/// no times: ranges then bear the order of their begin and end instead, and there is no device
/// work.
///
/// The same reader takes what Chakra's trace linker writes (chakra_trace_link; schemas ending in
/// "-chakra.0.0.4"): the same nodes with `ts` and `inclusive_dur`, and a node of category "kernel",
/// "gpu_memcpy" or "gpu_memset" for each device record, whose parent is the operator that launched
/// it. Chakra's protobuf form is not read: its PyTorch converter writes durations without begins
/// (mlcommons/chakra, src/converter/pytorch_converter.py), so no time of a layer follows from it.
/// @throws ConfigError when it is no such JSON, at the file; it names the node.
[[nodiscard]] Trace read_execution_trace(const std::string& file);
[[nodiscard]] Trace parse_execution_trace(const std::string& text, const std::string& file);

/// Gives the operators of a timed trace the shapes that an execution trace of the same program has:
/// the two list the same operators in the same order on each thread, so the names of the one, in
/// order, are looked for in the other, again and again to its end (an iteration repeats).
/// @return operators of `timed` that were found in it.
/// @throws ConfigError at the execution trace when its operators are nowhere in `timed`.
std::size_t complete_from(Trace& timed, const Trace& execution);

}  // namespace gradwire::calibration
