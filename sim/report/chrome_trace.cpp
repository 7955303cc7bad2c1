#include "sim/report/chrome_trace.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

#include "sim/report/timeline.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

Json metadata(const char* what, int process, int thread, const Json& args) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", args}};
}

/// The nearest multiple of 2^-10 us, about a nanosecond. Sums of such numbers are exact, so that a
/// bar's start and duration add up to the start of the next: viewers nest bars that overlap by the
/// least.
double microseconds(double seconds) {
  constexpr double per_microsecond = 1024;
  return std::round(seconds * 1e6 * per_microsecond) / per_microsecond;
}

Json event(const Span& span, double origin, int process, int thread) {
  Json args = Json::object();
  if (span.bytes > 0) args["bytes"] = span.bytes;
  if (!span.tensors.empty()) args["tensors"] = span.tensors;
  if (!span.cause.empty()) args["cause"] = span.cause;
  const double start = microseconds(span.start - origin);
  const double end = microseconds(span.start - origin + span.duration);
  return {{"name", span.name},  {"cat", span.resource}, {"ph", "X"},     {"ts", start},
          {"dur", end - start}, {"pid", process},       {"tid", thread}, {"args", args}};
}

}  // namespace

nlohmann::ordered_json chrome_trace(std::span<const Point> points) {
  Json events = Json::array();
  int process = -1;
  for (const Point& point : points) {
    const double origin = timeline_start(point.result.spans);
    const std::string prefix = point.label.empty() ? "" : point.label + ": ";
    const std::string* worker = nullptr;
    int thread = 0;
    for (const TimelineRow& row : timeline_rows(point.result.spans)) {
      const std::string& of = row.spans.front()->worker;
      if (worker == nullptr || *worker != of) {
        worker = &of;
        thread = 0;
        ++process;
        events.push_back(metadata("process_name", process, 0, {{"name", prefix + of}}));
        events.push_back(metadata("process_sort_index", process, 0, {{"sort_index", process}}));
      }
      events.push_back(metadata("thread_name", process, thread, {{"name", row.resource}}));
      events.push_back(metadata("thread_sort_index", process, thread, {{"sort_index", thread}}));
      for (const Span* span : row.spans) events.push_back(event(*span, origin, process, thread));
      ++thread;
    }
  }
  return {{"displayTimeUnit", "ms"},
          {"otherData", {{"gradwire_version", gradwire_version}}},
          {"traceEvents", events}};
}

}  // namespace gradwire
