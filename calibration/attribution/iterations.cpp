#include "calibration/attribution/iterations.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace gradwire::calibration {
namespace {

/// From each instant to the next.
std::vector<HostIteration> between(std::vector<Nanoseconds> instants) {
  std::ranges::sort(instants);
  std::vector<HostIteration> iterations;
  for (std::size_t i = 1; i < instants.size(); ++i) {
    if (instants[i] > instants[i - 1]) iterations.push_back({instants[i - 1], instants[i]});
  }
  return iterations;
}

/// Values by thread; those of the thread that has most.
template <class Value>
std::pair<std::uint32_t, std::vector<Value>> of_busiest_thread(
    const std::map<std::uint32_t, std::vector<Value>>& by_thread) {
  std::pair<std::uint32_t, std::vector<Value>> most;
  for (const auto& [thread, values] : by_thread) {
    if (values.size() > most.second.size()) most = {thread, values};
  }
  return most;
}

Iterations profiler_steps(const TraceIndex& index) {
  std::map<std::uint32_t, std::vector<HostIteration>> steps;
  for (const RangeId id : index.ranges()) {
    if (!index.meaning(id).iteration) continue;
    const RangeRecord& step = index.range(id);
    auto& known = steps[step.thread];
    // Hostile traces may nest them.
    if (step.end > step.start && (known.empty() || known.back().end <= step.start)) {
      known.push_back({step.start, step.end});
    }
  }
  Iterations found;
  found.told_by = "profiler steps";
  std::tie(found.thread, found.host) = of_busiest_thread(steps);
  return found;
}

Iterations iteration_marks(const TraceIndex& index) {
  std::map<std::uint32_t, std::vector<Nanoseconds>> marks;
  for (const MarkRecord& mark : index.trace().marks) {
    if (begins_iteration(index.trace().names[mark.name])) marks[mark.thread].push_back(mark.time);
  }
  const auto [thread, times] = of_busiest_thread(marks);
  return {between(times), "iteration marks", false, thread};
}

/// Of anything on the host.
Nanoseconds begin_of(const TraceIndex& index) {
  Nanoseconds begin = std::numeric_limits<Nanoseconds>::max();
  for (const RangeRecord& range : index.trace().ranges) begin = std::min(begin, range.start);
  for (const CallRecord& call : index.trace().calls) begin = std::min(begin, call.start);
  return begin;
}

Iterations optimizer_steps(const TraceIndex& index) {
  std::map<std::uint32_t, std::vector<Nanoseconds>> ends;
  for (const RangeId id : index.ranges()) {
    const RangeId around = index.parent(id);
    const bool inner = around != no_range && index.meaning(around).optimizer;
    if (index.meaning(id).optimizer && !inner) {
      ends[index.range(id).thread].push_back(index.range(id).end);
    }
  }
  auto [thread, times] = of_busiest_thread(ends);
  if (times.size() == 1) times.insert(times.begin(), begin_of(index));
  return {between(times), "optimizer steps", false, thread};
}

Iterations repeating_kernels(const TraceIndex& index) {
  std::vector<NameId> names;
  std::vector<Nanoseconds> starts;
  for (const std::uint32_t record : index.device_order()) {
    const DeviceRecord& work = index.trace().device[record];
    if (work.kind != DeviceKind::kernel || index.meaning(work).communication) continue;
    names.push_back(work.name);
    starts.push_back(work.start);
  }
  const auto [begin, period] = repeating_tail(names);
  Iterations found;
  found.told_by = "repeating kernels";
  found.by_device = true;
  if (period == 0) return found;
  std::vector<Nanoseconds> begins;
  for (std::size_t i = names.size(); i >= begin + period; i -= period) {
    begins.push_back(starts[i - period]);
  }
  // The last sequence has no next one to end at.
  found.host = between(begins);
  return found;
}

}  // namespace

RepeatingTail repeating_tail(std::span<const NameId> sequence) {
  constexpr std::size_t repeats_min = 3;
  constexpr double covered_min = 0.8;  // what comes before is warm-up
  const std::size_t count = sequence.size();
  const auto at = [&](std::size_t i) { return sequence[count - 1 - i]; };
  // match[i]: how far the reversed sequence agrees with itself from i on (Gusfield's Z values).
  std::vector<std::size_t> match(count, 0);
  std::size_t left = 0;
  std::size_t right = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (i < right) match[i] = std::min(right - i, match[i - left]);
    while (i + match[i] < count && at(match[i]) == at(i + match[i])) ++match[i];
    if (i + match[i] > right) {
      left = i;
      right = i + match[i];
    }
    const std::size_t covered = i + match[i];
    const bool covers_most =
        static_cast<double>(covered) >= covered_min * static_cast<double>(count);
    if (covers_most && covered >= repeats_min * i) return {count - covered, i};
  }
  return {};
}

Iterations find_iterations(const TraceIndex& index) {
  for (const auto find : {profiler_steps, iteration_marks, optimizer_steps}) {
    Iterations found = find(index);
    if (!found.host.empty()) return found;
  }
  return repeating_kernels(index);
}

}  // namespace gradwire::calibration
