#pragma once

#include <fmt/format.h>

#include <string>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration::test {

inline std::string microseconds(Nanoseconds time) {
  return fmt::format("{}.{:03}", time / 1000, time % 1000);
}

/// One complete event; `arguments` without braces.
inline std::string event(const std::string& category, const std::string& name, Nanoseconds start,
                         Nanoseconds end, std::uint32_t thread, const std::string& arguments) {
  return fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 1, \"tid\": {}, \"ts\": {}, "
      "\"dur\": {}, \"args\": {{{}}}}},\n",
      category, name, thread, microseconds(start), microseconds(end - start), arguments);
}

/// A trace as PyTorch's profiler writes it.
inline std::string kineto_text(const Trace& trace) {
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  for (const RangeRecord& range : trace.ranges) {
    const std::string& name = trace.names[range.name];
    std::string arguments = fmt::format("\"External id\": {}", range.external);
    if (range.sequence != no_sequence) {
      arguments += fmt::format(", \"Sequence number\": {}", range.sequence);
    }
    if (range.shapes != no_name) {
      arguments += fmt::format(", \"Input Dims\": {}", trace.names[range.shapes]);
    }
    const bool annotation = name.starts_with("ProfilerStep#") || name.starts_with("Optimizer");
    text += event(annotation ? "user_annotation" : "cpu_op", name, range.start, range.end,
                  range.thread, arguments);
  }
  for (const CallRecord& call : trace.calls) {
    text += event("cuda_runtime", trace.names[call.name], call.start, call.end, call.thread,
                  fmt::format("\"correlation\": {}", call.correlation));
  }
  for (const DeviceRecord& record : trace.device) {
    text += event("kernel", trace.names[record.name], record.start, record.end, record.stream,
                  fmt::format("\"device\": 0, \"stream\": {}, \"correlation\": {}", record.stream,
                              record.correlation));
  }
  return text + "{\"ph\": \"M\", \"name\": \"end\"}]}\n";
}

}  // namespace gradwire::calibration::test
