#include "calibration/attribution/trace_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

std::vector<std::uint32_t> indices(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

TraceIndex::TraceIndex(const Trace& trace)
    : trace_(trace),
      meanings_(range_meanings(trace.names)),
      order_(indices(trace.ranges.size())),
      parents_(trace.ranges.size(), no_range),
      launches_(trace.device.size()),
      device_order_(indices(trace.device.size())) {
  std::ranges::sort(order_, [&](RangeId a, RangeId b) {
    const RangeRecord& x = trace.ranges[a];
    const RangeRecord& y = trace.ranges[b];
    return std::tie(x.thread, x.start, y.end, a) < std::tie(y.thread, y.start, x.end, b);
  });
  std::ranges::sort(device_order_, [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(trace.device[a].start, a) < std::tie(trace.device[b].start, b);
  });
  nest_ranges();
  find_launches();
}

void TraceIndex::nest_ranges() {
  std::vector<RangeId> open;
  for (const RangeId id : order_) {
    const RangeRecord& record = range(id);
    while (!open.empty() &&
           (range(open.back()).thread != record.thread || range(open.back()).end <= record.start)) {
      open.pop_back();
    }
    if (!open.empty()) parents_[id] = open.back();
    open.push_back(id);
    if (open.size() > trace_depth.most) {
      throw ConfigError({trace_.file, 0, 0},
                        fmt::format("{} at '{}'; expected ranges as programs nest them",
                                    over(trace_depth), trace_.names[record.name]));
    }
  }
}

std::vector<RangeId> TraceIndex::ranges_around_calls() const {
  std::vector<RangeId> around(trace_.calls.size(), no_range);
  auto calls = indices(trace_.calls.size());
  std::ranges::sort(calls, [&](std::uint32_t a, std::uint32_t b) {
    const CallRecord& x = trace_.calls[a];
    const CallRecord& y = trace_.calls[b];
    return std::tie(x.thread, x.start, a) < std::tie(y.thread, y.start, b);
  });
  std::size_t next = 0;
  std::vector<RangeId> open;
  for (const std::uint32_t call : calls) {
    const auto& [thread, time] = std::tie(trace_.calls[call].thread, trace_.calls[call].start);
    for (; next < order_.size(); ++next) {
      const RangeRecord& candidate = range(order_[next]);
      if (std::tie(candidate.thread, candidate.start) > std::tie(thread, time)) break;
      while (!open.empty() && range(open.back()).end < candidate.start) open.pop_back();
      open.push_back(order_[next]);
    }
    while (!open.empty() &&
           (range(open.back()).thread != thread || range(open.back()).end < time)) {
      open.pop_back();
    }
    if (!open.empty()) around[call] = open.back();
  }
  return around;
}

void TraceIndex::find_launches() {
  std::unordered_map<std::uint32_t, std::uint32_t> call_of;
  call_of.reserve(trace_.calls.size());
  for (std::uint32_t i = 0; i < trace_.calls.size(); ++i) {
    call_of.emplace(trace_.calls[i].correlation, i);
  }
  std::unordered_map<std::uint64_t, RangeId> range_of;
  if (!trace_.links.empty()) {
    for (RangeId id = 0; id < trace_.ranges.size(); ++id) {
      if (trace_.ranges[id].external != 0) range_of.emplace(trace_.ranges[id].external, id);
    }
  }
  std::unordered_map<std::uint32_t, std::uint64_t> link_of;
  for (const LinkRecord& link : trace_.links) link_of[link.correlation] = link.external;
  const std::vector<RangeId> around = ranges_around_calls();
  for (std::size_t i = 0; i < trace_.device.size(); ++i) {
    const std::uint32_t correlation = trace_.device[i].correlation;
    if (correlation == 0) continue;
    Launch& launch = launches_[i];
    if (const auto call = call_of.find(correlation); call != call_of.end()) {
      const CallRecord& record = trace_.calls[call->second];
      launch = {true, record.start, record.thread, around[call->second]};
    }
    const auto link = link_of.find(correlation);
    if (link == link_of.end()) continue;
    const auto linked = range_of.find(link->second);
    if (linked == range_of.end()) continue;
    // The range's start stands for a call that the recorder did not keep.
    if (!launch.known) launch.time = range(linked->second).start;
    launch.known = true;
    launch.thread = range(linked->second).thread;
    launch.range = linked->second;
  }
}

}  // namespace gradwire::calibration
