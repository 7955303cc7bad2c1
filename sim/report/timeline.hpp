#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/result.hpp"

namespace gradwire {

/// The spans of one resource of one worker class, in order of time.
struct TimelineRow {
  std::string worker;
  std::string resource;
  std::vector<const Span*> spans;
};

/// Spans sorted into rows: workers in order of appearance; in each host, compute, copy,
/// communication, then any other; spans of one row never overlap. The rows point into `spans`.
[[nodiscard]] std::vector<TimelineRow> timeline_rows(const std::vector<Span>& spans);

/// Start of the first span, seconds; 0 without any.
[[nodiscard]] double timeline_start(const std::vector<Span>& spans);

/// What a bar shows; decides its colour.
enum class SpanKind : std::uint8_t {
  forward,
  backward,
  optimizer,
  copy,
  communication,
  host,
  wait,
  other
};
constexpr std::size_t span_kinds = 8;
/// By the resource; on the compute stream by the first word of the span's name, where "update" is
/// the optimizer's too. A span named "wait" or "spin" only waits.
[[nodiscard]] SpanKind kind_of(const Span& span);

}  // namespace gradwire
