#include <algorithm>
#include <vector>

#include "calibration/attribution/iterations.hpp"
#include "calibration/attribution/trace_index.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire::calibration {
namespace {

Seconds seconds(Nanoseconds time) {
  return Seconds{1e-9 * static_cast<double>(time)};
}

/// Compute kernels by start.
std::vector<DeviceRecord> kernels_of(const Trace& trace, const TraceIndex& index) {
  std::vector<DeviceRecord> kernels;
  for (const std::uint32_t id : index.device_order()) {
    const DeviceRecord& record = trace.device[id];
    if (record.kind == DeviceKind::kernel && !index.meaning(record).communication) {
      kernels.push_back(record);
    }
  }
  return kernels;
}

/// The kernels of one iteration: names, and each one's median time.
struct Sequence {
  std::vector<std::string> names;
  std::vector<double> medians;
};

std::vector<NameId> names_of(const std::vector<DeviceRecord>& kernels) {
  std::vector<NameId> names(kernels.size());
  std::ranges::transform(kernels, names.begin(), &DeviceRecord::name);
  return names;
}

Sequence sequence_of(const Trace& trace) {
  const TraceIndex index(trace);
  const std::vector<DeviceRecord> kernels = kernels_of(trace, index);
  const std::vector<NameId> names = names_of(kernels);
  const auto [begin, period] = repeating_tail(names);
  Sequence sequence;
  for (std::size_t i = 0; i < period; ++i) {
    const std::size_t last = kernels.size() - period + i;
    sequence.names.push_back(trace.names[kernels[last].name]);
    std::vector<double> times;
    for (std::size_t at = begin + (last - begin) % period; at <= last; at += period) {
      times.push_back(static_cast<double>(kernels[at].end - kernels[at].start));
    }
    sequence.medians.push_back(median(times));
  }
  return sequence;
}

}  // namespace

std::optional<double> kernel_ratio(const Trace& full, const Trace& light) {
  const Sequence a = sequence_of(full);
  const Sequence b = sequence_of(light);
  const std::size_t count = a.names.size();
  if (count == 0 || b.names.size() != count) return std::nullopt;
  // The two may end at different places of the iteration.
  std::vector<std::string> twice = b.names;
  twice.insert(twice.end(), b.names.begin(), b.names.end());
  const auto at = std::search(twice.begin(), twice.end(), a.names.begin(), a.names.end());
  if (at == twice.end()) return std::nullopt;
  const auto shift = static_cast<std::size_t>(at - twice.begin());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < count; ++i) {
    const double other = b.medians[(i + shift) % count];
    if (other > 0 && a.medians[i] > 0) ratios.push_back(a.medians[i] / other);
  }
  return ratios.empty() ? std::nullopt : std::optional<double>(median(ratios));
}

std::vector<Seconds> iteration_times(const Trace& trace) {
  const TraceIndex index(trace);
  const std::vector<DeviceRecord> kernels = kernels_of(trace, index);
  const std::vector<NameId> names = names_of(kernels);
  std::vector<Nanoseconds> begins;
  if (const auto [begin, period] = repeating_tail(names); period > 0) {
    for (std::size_t i = begin + (kernels.size() - begin) % period; i < kernels.size();
         i += period) {
      begins.push_back(kernels[i].start);
    }
  } else {
    for (const MarkRecord& mark : trace.marks) {
      if (begins_iteration(trace.names[mark.name])) begins.push_back(mark.time);
    }
    std::ranges::sort(begins);
  }
  std::vector<Seconds> times;
  for (std::size_t i = 1; i < begins.size(); ++i)
    times.push_back(seconds(begins[i] - begins[i - 1]));
  return times;
}

}  // namespace gradwire::calibration
