#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibration/import/recording_builder.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/error.hpp"

// What refers to each other, joined, when all records of a file are there.
namespace gradwire::calibration {

/// A range that one thread starts may be ended by another, whose chunk may come first.
void RecordingBuilder::end_ranges() {
  for (const gwr::RangeEnd& end : ends_) {
    const auto open = open_.find(end.id);
    if (open == open_.end()) continue;
    RangeRecord range = open->second.range;
    range.end = std::max(end.time, range.start);
    range.domain = open->second.domain;
    recording_.trace.ranges.push_back(range);
    open_.erase(open);
  }
  recording_.open_ranges = open_.size();
}

NameId RecordingBuilder::resolve(std::uint32_t id) {
  const auto name = names_.find(id);
  return name != names_.end() ? name->second : recording_.trace.names.id("");
}

/// Names and numbers of the file become those of the trace.
void RecordingBuilder::name_all() {
  const NameId copy = recording_.trace.names.id("copy");
  const NameId peer_copy = recording_.trace.names.id("peer copy");
  const NameId memset = recording_.trace.names.id("memset");
  for (DeviceRecord& record : recording_.trace.device) {
    switch (record.kind) {
      case DeviceKind::kernel:
        record.name = resolve(record.name);
        break;
      case DeviceKind::copy:
        record.name = copy;
        break;
      case DeviceKind::peer_copy:
        record.name = peer_copy;
        break;
      case DeviceKind::memset:
        record.name = memset;
        break;
    }
  }
  for (CallRecord& call : recording_.trace.calls) {
    call.name = resolve(call.name);
    const auto thread = threads_.find(call.thread);
    if (thread != threads_.end()) call.thread = thread->second;
  }
  for (RangeRecord& range : recording_.trace.ranges) range.domain = resolve(range.domain);
  for (MarkRecord& mark : recording_.trace.marks) mark.domain = resolve(mark.domain);
}

void RecordingBuilder::say_missing() {
  std::vector<std::string>& missing = recording_.trace.missing;
  const Trace& trace = recording_.trace;
  const bool full = recording_.mode == "full";
  if (trace.device.empty()) missing.emplace_back("kernels, copies and memsets");
  if (!full || trace.calls.empty()) missing.emplace_back("calls of the CUDA runtime and driver");
  if (!full || trace.ranges.empty()) missing.emplace_back("ranges");
  if (!full || trace.links.empty()) missing.emplace_back("links of calls to ranges");
  if (trace.devices.empty()) missing.emplace_back("properties of the GPUs");
}

Recording RecordingBuilder::finish(bool cut_off, const std::string& file) {
  end_ranges();
  name_all();
  say_missing();
  recording_.trace.file = file;
  recording_.trace.cut_off = cut_off || !ended_;
  const Trace& trace = recording_.trace;
  if (trace.rank < 0 || trace.rank >= trace.world_size) {
    throw ConfigError({file, 0, 0}, fmt::format("is of rank {} of {}; expected a rank from 0 on, "
                                                "below the number of them",
                                                trace.rank, trace.world_size));
  }
  const RecorderCost& cost = recording_.cost;
  check_times(recording_.trace);
  recording_.trace.dropped = cost.dropped_ranges + cost.dropped_device + cost.unstamped;
  return std::move(recording_);
}

}  // namespace gradwire::calibration
