#include "calibration/capture/inject/cupti_session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "calibration/capture/inject/activity_records.hpp"
#include "tests/calibration/capture/mock_run.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"

using namespace gradwire::calibration;

namespace {

Settings light() {
  Settings settings;
  settings.mode = RecordMode::light;
  return settings;
}

}  // namespace

TEST_CASE("a kernel comes back linked to its call and to the range it was launched in", "[cupti]") {
  MockRun run("chain");
  REQUIRE(run.start());
  run.recorder.push(0, "aten::conv2d, seq = 3", 0);
  run.mock.launch("_Z8conv_fwdPf", 1000, 2000, 11);
  run.recorder.pop(0);
  run.mock.launch("alone", 3000, 3500, 12);
  const Recording read = run.finish();
  REQUIRE(read.trace.device.size() == 2);
  const DeviceRecord& kernel = read.trace.device[0];
  CHECK(read.trace.names[kernel.name] == "conv_fwd(float*)");
  CHECK(kernel.start == 1000);
  CHECK(kernel.end == 2000);
  CHECK(kernel.correlation == 11);
  CHECK(kernel.stream == 7);
  CHECK(kernel.blocks == 4 * 3 * 2);
  CHECK(kernel.graph == 5);
  CHECK(kernel.kind == DeviceKind::kernel);
  REQUIRE(read.trace.calls.size() == 2);
  CHECK(read.trace.names[read.trace.calls[0].name] == "cudaLaunchKernel");
  CHECK(read.trace.calls[0].correlation == 11);
  REQUIRE(read.trace.links.size() == 1);  // the second kernel was launched in no range
  CHECK(read.trace.links[0].correlation == 11);
  CHECK(read.trace.links[0].external == ranges_named(read.trace, "aten::conv2d").at(0).external);
  REQUIRE(read.trace.devices.size() == 1);
  CHECK(read.trace.devices[0].name == "NVIDIA Mock");
  CHECK(read.trace.devices[0].multiprocessors == 132);
  CHECK(read.cupti == CUPTI_API_VERSION);
  CHECK(read.trace.missing.empty());
  CHECK_FALSE(read.clocks.empty());
}

TEST_CASE("light mode asks for kernels, copies and memsets only", "[cupti]") {
  MockRun run("light", light());
  REQUIRE(run.start());
  CHECK(run.mock.enabled == std::set<CUpti_ActivityKind>{
                                CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET});
  run.mock.launch("kernel", 10, 20, 1);
  run.mock.copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 30, 40, 2);
  const Recording read = run.finish();
  REQUIRE(read.trace.device.size() == 2);
  CHECK(read.trace.calls.empty());
  CHECK(read.trace.device[1].bytes == 4096);
  CHECK(read.trace.device[1].copy == CopyKind::host_to_device);
  CHECK(std::ranges::count(read.trace.missing, "ranges") == 1);
}

TEST_CASE("serialised kernels are never asked for, and the clock is set before any kind",
          "[cupti]") {
  MockRun run("order");
  REQUIRE(run.start());
  CHECK_FALSE(run.mock.enabled.contains(CUPTI_ACTIVITY_KIND_KERNEL));
  REQUIRE(run.mock.order.size() > 2);
  CHECK(run.mock.order[0] == "timestamp");
  CHECK(run.mock.order[1] == "callbacks");
  CHECK(run.mock.order[2] == "enable");
}

TEST_CASE("calls that launch nothing are taken out of their kind", "[cupti]") {
  MockRun run("choice");
  REQUIRE(run.start());
  CHECK(run.mock.enabled.contains(CUPTI_ACTIVITY_KIND_RUNTIME));
  CHECK(run.mock.enabled.contains(CUPTI_ACTIVITY_KIND_DRIVER));
  CHECK(run.mock.runtime_calls_off == std::set<std::uint32_t>{mock_other_call});
  run.finish();
}

TEST_CASE("records that CUPTI dropped or could not time are counted", "[cupti]") {
  MockRun run("drops");
  REQUIRE(run.start());
  run.mock.launch("kernel", 10, 20, 1);
  run.mock.dropped = 7;
  run.mock.launch("untimed", 0, 0, 2);
  const Recording read = run.finish();
  CHECK(read.cost.dropped_device == 7);
  CHECK(read.cost.unstamped == 1);
  CHECK(read.trace.dropped == 8);
  CHECK(read.trace.device.size() == 1);
}

TEST_CASE("buffers stay within the memory, and others are refused", "[cupti]") {
  Settings settings = light();
  settings.memory_bytes = std::size_t{32} << 20U;  // two buffers of 8 MiB
  MockRun run("memory", settings);
  REQUIRE(run.start());
  for (int buffer = 0; buffer < 5; ++buffer) run.mock.next_buffer();
  CHECK(run.mock.refused_buffers == 3);
  run.mock.launch("kernel", 10, 20, 1);
  const Recording read = run.finish();
  CHECK(read.trace.device.size() == 1);
  CHECK(read.cost.buffers_missing == 0);
}

TEST_CASE("buffers may complete in any order", "[cupti]") {
  MockRun run("reversed", light());
  REQUIRE(run.start());
  run.mock.reversed = true;
  run.mock.launch("first", 10, 20, 1);
  run.mock.next_buffer();
  run.mock.launch("second", 30, 40, 2);
  const Recording read = run.finish();
  REQUIRE(read.trace.device.size() == 2);
  CHECK(read.trace.names[read.trace.device[0].name] == "second");
  CHECK(read.trace.names[read.trace.device[1].name] == "first");
}

TEST_CASE("a kind that must be there and is refused leaves ranges, and says what to do",
          "[cupti]") {
  MockRun run("refused");
  run.mock.enable_results[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] =
      CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  REQUIRE(run.start());
  run.recorder.push(0, "range", 0);
  run.mock.launch("kernel", 10, 20, 1);
  run.recorder.pop(0);
  const Recording read = run.finish();
  CHECK(run.mock.enabled.empty());
  CHECK(read.trace.device.empty());
  CHECK(read.trace.ranges.size() == 1);
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0] == "refused_kind=10 CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
}

TEST_CASE("a kind that may be missing costs only its records", "[cupti]") {
  MockRun run("optional");
  run.mock.enable_results[CUPTI_ACTIVITY_KIND_NVLINK] = CUPTI_ERROR_NOT_COMPATIBLE;
  REQUIRE(run.start());
  run.mock.launch("kernel", 10, 20, 1);
  const Recording read = run.finish();
  CHECK(read.trace.device.size() == 1);
  CHECK(read.notes.size() == 1);
}

TEST_CASE("another profiler is reported: at once, or when it has taken the callbacks", "[cupti]") {
  SECTION("attached before us") {
    MockRun run("subscriber");
    run.mock.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    CHECK_FALSE(run.start());
    CHECK(run.why == "another profiler has CUPTI (nsys, ncu, cuda-gdb?); end it first");
  }
  SECTION("CUPTI refuses our callbacks") {
    MockRun run("callbacks");
    run.mock.register_result = CUPTI_ERROR_UNKNOWN;
    CHECK_FALSE(run.start());
    CHECK(run.why == "CUPTI refuses: CUPTI_ERROR_UNKNOWN");
  }
  SECTION("in the program, after us") {
    MockRun run("hijacked", light());
    REQUIRE(run.start());
    run.mock.launch("kernel", 10, 20, 1);
    run.mock.hijacked = true;
    run.mock.launch("kernel", 30, 40, 2);
    const Recording read = run.finish();
    CHECK(read.trace.device.empty());
    CHECK(read.cost.buffers_missing == 1);
  }
}

TEST_CASE("the device is recorded within the wanted iterations, and one more for its tail",
          "[cupti]") {
  Settings settings;
  settings.skip_iterations = 1;
  settings.iterations = 2;
  MockRun run("window", settings);
  REQUIRE(run.start());
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t iteration = 0; iteration < 6; ++iteration) {
    run.recorder.mark(0, "gradwire.iteration:" + std::to_string(iteration));
    const std::uint64_t start = 1000 * (iteration + 1);
    run.mock.launch("kernel", start, start + 100, iteration + 1);
  }
  const Recording read = run.finish();
  std::vector<std::uint32_t> correlations;
  for (const DeviceRecord& record : read.trace.device) correlations.push_back(record.correlation);
  std::ranges::sort(correlations);
  CHECK(correlations == std::vector<std::uint32_t>{2, 3, 4});
  CHECK(run.mock.enabled.empty());
  CHECK(std::ranges::count(run.mock.order, "dump") == 3);  // CUDA had started long before
  CHECK(read.trace.devices.size() == 1);                   // told twice
}

TEST_CASE("launches of several threads are linked to their own ranges", "[cupti]") {
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t launches = 500;
  MockRun run("threads");
  REQUIRE(run.start());
  std::vector<std::thread> running;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&run, thread] {
      for (std::uint32_t launch = 0; launch < launches; ++launch) {
        run.recorder.push(0, "thread " + std::to_string(thread), 0);
        run.mock.launch("kernel", 100, 200, 1 + thread * launches + launch);
        run.recorder.pop(0);
        if (launch % 100 == 0) run.session->flush(false);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const Recording read = run.finish();
  CHECK(read.trace.device.size() == std::size_t{threads} * launches);
  REQUIRE(read.trace.links.size() == std::size_t{threads} * launches);
  std::map<std::uint64_t, std::string> range_names;
  for (const RangeRecord& range : read.trace.ranges) {
    range_names[range.external] = read.trace.names[range.name];
  }
  const auto right = [&](const LinkRecord& link) {
    return range_names[link.external] ==
           "thread " + std::to_string((link.correlation - 1) / launches);
  };
  CHECK(std::ranges::all_of(read.trace.links, right));
}

TEST_CASE("calls that launch, move or wait are recorded, others are not", "[cupti]") {
  CHECK(is_recorded_call("cudaLaunchKernel"));
  CHECK(is_recorded_call("cudaLaunchKernelExC"));
  CHECK(is_recorded_call("cuLaunchKernelEx"));
  CHECK(is_recorded_call("cudaMemcpyAsync"));
  CHECK(is_recorded_call("cudaStreamSynchronize"));
  CHECK_FALSE(is_recorded_call("cudaGetDevice"));
  CHECK_FALSE(is_recorded_call("cudaMalloc"));
  CHECK_FALSE(is_recorded_call("cuCtxGetCurrent"));
}

TEST_CASE("the real CUPTI walks a buffer of our structs, without a driver", "[cupti][real]") {
  std::string why;
  const std::optional<CuptiApi> api = load_cupti(why, GRADWIRE_CUPTI_LIBRARY);
  if (!api) {
    gradwire::test::skip(why);
    return;
  }
  std::uint32_t version = 0;
  REQUIRE(api->get_version(&version) == CUPTI_SUCCESS);
  CHECK(version == CUPTI_API_VERSION);
  alignas(8) std::array<std::uint8_t, 4096> buffer{};
  std::size_t used = 0;
  const auto add = [&](const auto& record) {
    std::memcpy(buffer.data() + used, &record, sizeof(record));
    used += sizeof(record);
  };
  LinkActivity link{};
  link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  link.externalId = 5;
  link.correlationId = 7;
  add(link);
  KernelActivity kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 100;
  kernel.end = 200;
  kernel.correlationId = 7;
  kernel.name = "kernel";
  add(kernel);
  CopyActivity copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 4096;
  copy.start = 300;
  copy.end = 310;
  add(copy);

  const RecordingPlace place("real");
  Recorder recorder(place.settings(), {});
  const ActivityRecords records(recorder, {});
  std::vector<std::byte> bytes;
  CUpti_Activity* activity = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = api->get_next_record(buffer.data(), used, &activity)) == CUPTI_SUCCESS) {
    CHECK(records.convert(*activity, bytes));
  }
  CHECK(result == CUPTI_ERROR_MAX_LIMIT_REACHED);
  recorder.append(bytes);
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  REQUIRE(read.trace.device.size() == 2);
  CHECK(read.trace.device[0].end == 200);
  CHECK(read.trace.device[1].bytes == 4096);
  REQUIRE(read.trace.links.size() == 1);
  CHECK(read.trace.links[0].external == 5);
}

TEST_CASE("the real CUPTI names the calls to record, without a driver", "[cupti][real]") {
  std::string why;
  const std::optional<CuptiApi> api = load_cupti(why, GRADWIRE_CUPTI_LIBRARY);
  if (!api) {
    gradwire::test::skip(why);
    return;
  }
  const auto calls = recorded_calls(*api);
  CHECK(calls.size() < 300);
  CHECK(calls.at(ActivityRecords::call_key(true, mock_launch_call)) == "cudaLaunchKernel");
  CHECK(calls.at(ActivityRecords::call_key(false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)) ==
        "cuLaunchKernel");
  CHECK(calls.at(ActivityRecords::call_key(false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)) ==
        "cuLaunchKernelEx");
}
