#include "calibration/trace/check_times.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

[[noreturn]] void fail(const Trace& trace, const std::string& what) {
  throw ConfigError({trace.file, 0, 0},
                    what + "; expected times that rise, in nanoseconds below 2^61");
}

template <class Record>
void check_records(const Trace& trace, const std::vector<Record>& records, std::string_view what) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (is_stretch(record.start, record.end)) continue;
    fail(trace, fmt::format("{} {} '{}' lasts from {} to {} ns", what, i, trace.names[record.name],
                            record.start, record.end));
  }
}

}  // namespace

void check_times(const Trace& trace) {
  check_records(trace, trace.device, "device record");
  check_records(trace, trace.calls, "call");
  check_records(trace, trace.ranges, "range");
  for (const MarkRecord& mark : trace.marks) {
    if (is_stretch(mark.time, mark.time)) continue;
    fail(trace, fmt::format("mark '{}' is at {} ns", trace.names[mark.name], mark.time));
  }
  Nanoseconds sum = 0;
  for (const DeviceRecord& record : trace.device) {
    const Nanoseconds duration = record.end - record.start;  // below 2^62
    if (duration > instant_max - sum) fail(trace, "the device records last 73 years together");
    sum += duration;
  }
}

}  // namespace gradwire::calibration
