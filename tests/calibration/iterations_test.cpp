#include "calibration/attribution/iterations.hpp"

#include <string>
#include <vector>

#include "calibration/fit/profile_fit.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

using test::toy_trace;
using test::us;

std::vector<NameId> repeated(const std::vector<NameId>& part, int times) {
  std::vector<NameId> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("The shortest period that covers the sequence is found", "[calibration]") {
  CHECK(repeating_tail(repeated({1, 2, 3}, 5)).period == 3);
  // Blocks inside an iteration repeat as well, but not to its end.
  CHECK(repeating_tail(repeated({1, 2, 1, 2, 1, 2, 9}, 4)).period == 7);
  // Twice is no period, and a sequence without repeats has none.
  CHECK(repeating_tail(repeated({1, 2, 3}, 2)).period == 0);
  CHECK(repeating_tail({}).period == 0);
  CHECK(repeating_tail(std::vector<NameId>{1, 2, 3, 4, 5}).period == 0);
}

TEST_CASE("Warm-up before the repeats may be a fifth of the sequence", "[calibration]") {
  std::vector<NameId> sequence = {7, 8, 9};
  const auto steps = repeated({1, 2, 3, 4}, 4);
  sequence.insert(sequence.end(), steps.begin(), steps.end());
  CHECK(repeating_tail(sequence).period == 4);  // 16 of 19
  CHECK(repeating_tail(sequence).begin == 3);
  sequence.insert(sequence.begin(), {5, 6, 5, 5, 6});
  CHECK(repeating_tail(sequence).period == 0);  // 16 of 24
}

TEST_CASE("Iterations come from profiler steps, else marks, else optimizer steps, else kernels",
          "[calibration]") {
  Trace trace = toy_trace(5);
  CHECK(find_iterations(TraceIndex(trace)).told_by == "profiler steps");
  CHECK(find_iterations(TraceIndex(trace)).host.size() == 5);
  std::erase_if(trace.ranges, [&](const RangeRecord& range) {
    return trace.names[range.name].starts_with("ProfilerStep#");
  });
  // The last mark has no next one.
  CHECK(find_iterations(TraceIndex(trace)).told_by == "iteration marks");
  CHECK(find_iterations(TraceIndex(trace)).host.size() == 4);
  trace.marks.clear();
  CHECK(find_iterations(TraceIndex(trace)).told_by == "optimizer steps");
  CHECK(find_iterations(TraceIndex(trace)).host.size() == 4);
  trace.ranges.clear();
  const Iterations found = find_iterations(TraceIndex(trace));
  CHECK(found.told_by == "repeating kernels");
  CHECK(found.by_device);
  CHECK(found.host.size() == 4);
}

TEST_CASE("A light recording tells the time of its iterations by its kernels alone",
          "[calibration]") {
  Trace trace = toy_trace(6);
  trace.ranges.clear();
  trace.calls.clear();
  trace.marks.clear();
  const std::vector<Seconds> times = iteration_times(trace);
  REQUIRE(times.size() == 5);
  // The stream is never idle from the third step on: 547 us a step.
  CHECK(times[4] / Seconds{547e-6} == Approx(1));
}

TEST_CASE("Warm-up kernels are no iteration and no time of one", "[calibration]") {
  // 20 kernels of 50 us that no iteration has, then ten iterations of 10 kernels of 1 us each.
  Trace trace;
  Nanoseconds now = 0;
  const auto kernel = [&](const std::string& name, Nanoseconds duration) {
    DeviceRecord record;
    record.start = now;
    record.end = now += duration;
    record.name = trace.names.id(name);
    trace.device.push_back(record);
  };
  for (int i = 0; i < 20; ++i) kernel("warm-up " + std::to_string(i), 50 * us);
  for (int i = 0; i < 100; ++i) kernel("kernel " + std::to_string(i % 10), us);
  const Iterations found = find_iterations(TraceIndex(trace));
  CHECK(found.host.size() == 9);  // the last has no next one
  CHECK(found.host.front().start == 20 * 50 * us);
  const std::vector<Seconds> times = iteration_times(trace);
  CHECK(times.size() == 9);
  for (const Seconds time : times) CHECK(time.count() == Approx(10e-6));
}

TEST_CASE("Kernels of two recordings are compared one by one, wherever the recordings begin",
          "[calibration]") {
  const Trace light = toy_trace(5);
  Trace full = toy_trace(6);
  // Each takes 2 % longer.
  for (DeviceRecord& record : full.device) record.end += (record.end - record.start) / 50;
  REQUIRE(kernel_ratio(full, light));
  CHECK(*kernel_ratio(full, light) == Approx(1.02).epsilon(1e-3));
  // Begins in the middle of a step.
  full.device.erase(full.device.begin(), full.device.begin() + 5);
  REQUIRE(kernel_ratio(full, light));
  CHECK(*kernel_ratio(full, light) == Approx(1.02).epsilon(1e-3));
  full.device.clear();
  CHECK_FALSE(kernel_ratio(full, light));
}

}  // namespace
}  // namespace gradwire::calibration
