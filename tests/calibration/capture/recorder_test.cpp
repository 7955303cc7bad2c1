#include "calibration/capture/inject/recorder.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calibration/capture/common/host_part.hpp"
#include "calibration/capture/inject/record_format.hpp"
#include "tests/calibration/capture/recording_place.hpp"
#include "tests/catch.hpp"

using namespace gradwire::calibration;

namespace {

/// Records `iterations` iterations of two nested ranges each, and a last mark.
void record_iterations(Recorder& recorder, int iterations) {
  for (int iteration = 0; iteration <= iterations; ++iteration) {
    recorder.mark(0, "gradwire.iteration:" + std::to_string(iteration));
    if (iteration == iterations) break;
    recorder.push(0, "outer", 0);
    recorder.push(0, "inner", 0);
    recorder.pop(0);
    recorder.pop(0);
  }
}

}  // namespace

TEST_CASE("nested ranges and marks come back with their names, times and thread", "[recorder]") {
  const RecordingPlace place("nested");
  Recorder recorder(place.settings(), {"tool=test 1"});
  const std::int64_t before = monotonic_ns();
  CHECK(recorder.push(0, "aten::conv2d, seq = 12, op_id = 3", 0) == 0);
  CHECK(recorder.push(0, "gradwire.fwd:layer1.0.conv1", 4096) == 1);
  recorder.mark(0, "gradwire.grad:fc.bias:1000:float32");
  CHECK(recorder.pop(0) == 1);
  CHECK(recorder.pop(0) == 0);
  CHECK(recorder.pop(0) < 0);
  const std::int64_t after = monotonic_ns();
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  CHECK(read.trace.tool == "test 1");
  CHECK(read.mode == "full");
  CHECK(read.pid == getpid());
  CHECK_FALSE(read.trace.cut_off);
  CHECK(read.trace.dropped == 0);
  CHECK(read.open_ranges == 0);
  REQUIRE(read.trace.ranges.size() == 2);
  const auto outer = ranges_named(read.trace, "aten::conv2d");
  const auto inner = ranges_named(read.trace, "gradwire.fwd:layer1.0.conv1");
  REQUIRE(outer.size() == 1);
  REQUIRE(inner.size() == 1);
  CHECK(outer[0].sequence == 12);
  CHECK(inner[0].sequence == no_sequence);
  CHECK(inner[0].bytes == 4096);
  CHECK(outer[0].external != inner[0].external);
  CHECK(inner[0].thread == static_cast<std::uint32_t>(gettid()));
  REQUIRE(read.trace.marks.size() == 1);
  CHECK(mark_names(read.trace)[0] == "gradwire.grad:fc.bias:1000:float32");
  // before <= outer.start <= inner.start <= mark <= inner.end <= outer.end <= after
  CHECK(before <= outer[0].start);
  CHECK(outer[0].start <= inner[0].start);
  CHECK(inner[0].start <= read.trace.marks[0].time);
  CHECK(read.trace.marks[0].time <= inner[0].end);
  CHECK(inner[0].end <= outer[0].end);
  CHECK(outer[0].end <= after);
}

TEST_CASE("a domain's ranges end apart from those of another", "[recorder]") {
  const RecordingPlace place("domains");
  Recorder recorder(place.settings(), {});
  const std::uint32_t nccl = recorder.name("NCCL");
  recorder.push(0, "operator", 0);
  recorder.push(nccl, "ncclAllReduce", 1024);
  recorder.pop(0);  // ends the operator, and not NCCL's range, which began later
  recorder.pop(nccl);
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  const auto reduce = ranges_named(read.trace, "ncclAllReduce");
  const auto operation = ranges_named(read.trace, "operator");
  REQUIRE(reduce.size() == 1);
  REQUIRE(operation.size() == 1);
  CHECK(read.trace.names[reduce[0].domain] == "NCCL");
  CHECK(read.trace.names[operation[0].domain].empty());
  CHECK(operation[0].end <= reduce[0].end);
}

TEST_CASE("threads record at once, each under its number, and all of it arrives", "[recorder]") {
  constexpr int threads = 6;
  constexpr int ranges = 3000;
  const RecordingPlace place("threads");
  Recorder recorder(place.settings(), {});
  std::vector<std::thread> running;
  running.reserve(threads);
  for (int index = 0; index < threads; ++index) {
    running.emplace_back([&] {
      for (int range = 0; range < ranges; ++range) {
        recorder.push(0, "range", 0);
        recorder.pop(0);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  CHECK(read.trace.dropped == 0);
  CHECK(read.trace.ranges.size() == std::size_t{threads} * ranges);
  std::set<std::uint32_t> numbers;
  std::set<std::uint64_t> ids;
  for (const RangeRecord& range : read.trace.ranges) {
    numbers.insert(range.thread);
    ids.insert(range.external);
  }
  CHECK(numbers.size() == threads);
  CHECK(ids.size() == std::size_t{threads} * ranges);
  CHECK(read.cost.callbacks == 2U * threads * ranges);
  CHECK(read.cost.in_callbacks > 0);
}

TEST_CASE("a range that one thread starts another may end", "[recorder]") {
  const RecordingPlace place("start_end");
  Recorder recorder(place.settings(), {});
  const std::uint64_t range = recorder.start(0, "step", 0);
  std::thread([&] { recorder.end(range); }).join();
  recorder.start(0, "never ended", 0);
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  REQUIRE(read.trace.ranges.size() == 1);
  CHECK(read.trace.ranges[0].thread == static_cast<std::uint32_t>(gettid()));
  CHECK(read.trace.ranges[0].end >= read.trace.ranges[0].start);
  CHECK(read.open_ranges == 1);
}

TEST_CASE("memory is bounded: what a full ring cannot take is counted", "[recorder]") {
  constexpr int ranges = 20000;
  const RecordingPlace place("bounded");
  Settings settings = place.settings();
  settings.memory_bytes = std::size_t{1} << 20U;  // rings of 64 KiB
  Recorder recorder(settings, {});
  const std::string text(200, 'x');
  for (int range = 0; range < ranges; ++range) {
    recorder.push(0, text, 0);
    recorder.pop(0);
  }
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  // Each push and each pop is either in the file or counted.
  CHECK(read.trace.ranges.size() + read.open_ranges + read.cost.dropped_ranges <= 2U * ranges);
  CHECK(read.trace.ranges.size() + read.cost.dropped_ranges >= std::size_t{ranges});
  CHECK(read.cost.dropped_ranges > 0);  // 5 MB through 64 KiB without a pause
}

TEST_CASE("only the wanted iterations are recorded, with the mark that ends the last",
          "[recorder]") {
  const RecordingPlace place("iterations");
  Settings settings = place.settings();
  settings.skip_iterations = 2;
  settings.iterations = 3;
  Recorder recorder(settings, {});
  record_iterations(recorder, 10);
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  CHECK(mark_names(read.trace) ==
        std::vector<std::string>{"gradwire.iteration:2", "gradwire.iteration:3",
                                 "gradwire.iteration:4", "gradwire.iteration:5"});
  CHECK(ranges_named(read.trace, "inner").size() == 3);
  CHECK(ranges_named(read.trace, "outer").size() == 3);
  CHECK(read.iterations == 11);
}

TEST_CASE("a forked child records nothing, and its parent's file stays whole", "[recorder][fork]") {
  const RecordingPlace place("fork");
  auto recorder = std::make_unique<Recorder>(place.settings(), std::vector<std::string>{});
  Recorder::install(recorder.get());
  recorder->push(0, "parent before", 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool silent = Recorder::current() == nullptr;
    _exit(silent ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  recorder->pop(0);
  recorder->finish();
  const std::vector<std::string> files = recording_files(place.path());
  REQUIRE(files.size() == 1);
  const Recording read = read_recording(files[0]);
  CHECK(read.pid == getpid());
  CHECK(read.trace.ranges.size() == 1);
}

TEST_CASE("what was complete when a program is killed is read", "[recorder][kill]") {
  const RecordingPlace place("kill");
  const pid_t child = fork();
  if (child == 0) {
    // Iterations without end; the parent kills us within one, and its own end would too.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Recorder recorder(place.settings(), {});
    for (int iteration = 0;; ++iteration) {
      recorder.mark(0, "gradwire.iteration:" + std::to_string(iteration));
      for (int range = 0; range < 50; ++range) {
        recorder.push(0, "work", 0);
        recorder.pop(0);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  const auto marks_now = [&] {
    const std::vector<std::string> files = recording_files(place.path());
    const bool is_begun = !files.empty() && std::filesystem::file_size(files[0]) > 0;
    return is_begun ? read_recording(files[0]).trace.marks.size() : 0;
  };
  std::size_t seen = 0;
  for (int attempt = 0; attempt < 1000 && seen < 20; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    seen = marks_now();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(seen >= 20);
  const Recording read = read_recording(recording_files(place.path())[0]);
  CHECK(read.trace.cut_off);
  REQUIRE(read.trace.marks.size() >= seen);
  // Every iteration whose next mark is there has all its ranges.
  for (std::size_t mark = 0; mark + 1 < read.trace.marks.size(); ++mark) {
    CHECK(mark_names(read.trace)[mark] == "gradwire.iteration:" + std::to_string(mark));
    const auto within = [&](const RangeRecord& range) {
      return range.start >= read.trace.marks[mark].time &&
             range.start < read.trace.marks[mark + 1].time;
    };
    CHECK(std::ranges::count_if(read.trace.ranges, within) == 50);
  }
}

TEST_CASE("a folder that cannot be written stops the recording, and nothing else", "[recorder]") {
  Settings settings;
  settings.folder = "/nonexistent/folder";
  Recorder recorder(settings, {});
  record_iterations(recorder, 3);
  recorder.finish();
  recorder.finish();
  CHECK_FALSE(std::filesystem::exists(recorder.path()));
}

TEST_CASE("the file's name tells mode, rank, machine and process", "[recorder]") {
  Settings settings;
  settings.folder = "/somewhere";
  settings.mode = RecordMode::light;
  settings.rank = 3;
  const Recorder recorder(settings, {});
  CHECK(recorder.path() ==
        "/somewhere/light.rank3." + host_part() + "." + std::to_string(getpid()) + ".gwr");
}

TEST_CASE("settings come from the environment, with the launcher's rank", "[recorder][settings]") {
  std::map<std::string, std::string> variables;
  std::string error;
  const auto read = [&] {
    error.clear();
    return read_settings(
        [&](const char* name) {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        error);
  };
  SECTION("defaults") {
    const Settings settings = read();
    CHECK(error.empty());
    CHECK(settings.mode == RecordMode::full);
    CHECK(settings.rank == 0);
    CHECK(settings.world_size == 1);
  }
  SECTION("each launcher's variables") {
    const auto [rank, size] = GENERATE(
        std::pair("RANK", "WORLD_SIZE"), std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        std::pair("PMI_RANK", "PMI_SIZE"), std::pair("PALS_RANKID", "PMI_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS"));
    variables = {{rank, "5"}, {size, "8"}};
    CHECK(read().rank == 5);
    CHECK(read().world_size == 8);
  }
  SECTION("GRADWIRE_RANK_FROM chooses among them, or another") {
    variables = {{"RANK", "1"}, {"SLURM_PROCID", "2"}, {"MY_RANK", "3"}};
    variables["GRADWIRE_RANK_FROM"] = "SLURM_PROCID";
    CHECK(read().rank == 2);
    variables["GRADWIRE_RANK_FROM"] = "MY_RANK";
    CHECK(read().rank == 3);
    CHECK(read().world_size == 4);  // nobody told: at least the ranks 0 to 3
    CHECK(read().rank_from == "MY_RANK");
    variables["GRADWIRE_RANK_FROM"] = "pid";
    CHECK(read().rank == 0);
  }
  SECTION("a step of Slurm's is smaller than its job, and PMIx gives no size") {
    variables = {{"SLURM_PROCID", "1"},
                 {"SLURM_NTASKS", "8"},
                 {"SLURM_STEP_NUM_TASKS", "2"},
                 {"PMIX_RANK", "1"}};
    CHECK(read().world_size == 2);
    variables = {{"PMIX_RANK", "6"}};
    CHECK(read().rank == 6);
    CHECK(read().world_size == 7);
  }
  SECTION("a rank that is none is reported before the program runs") {
    variables = {{"RANK", "4"}, {"WORLD_SIZE", "4"}};
    read();
    CHECK(error == "RANK=4 is no rank of WORLD_SIZE=4; expected a rank below the number of them");
  }
  SECTION("sizes and counts") {
    variables = {
        {"GRADWIRE_MEMORY", "64M"}, {"GRADWIRE_SKIP_ITERS", "10"}, {"GRADWIRE_ITERS", "50"}};
    CHECK(read().memory_bytes == std::size_t{64} << 20U);
    CHECK(read().skip_iterations == 10);
    CHECK(read().iterations == 50);
  }
  SECTION("what is not understood is reported") {
    const auto [name, value, message] = GENERATE(table<std::string, std::string, std::string>(
        {{"GRADWIRE_MODE", "loud",
          "GRADWIRE_MODE='loud' is not understood; expected light or full"},
         {"GRADWIRE_FILE_SIZE", "big",
          "GRADWIRE_FILE_SIZE='big' is not understood; expected bytes, as 4294967296, 512M or 4G"},
         {"GRADWIRE_ITERS", "-1", "GRADWIRE_ITERS='-1' is not understood; expected a count"},
         {"GRADWIRE_MEMORY", "64 MB",
          "GRADWIRE_MEMORY='64 MB' is not understood; expected bytes, as 268435456, 256M or 1G"},
         {"RANK", "x", "RANK='x' is not understood; expected a count"}}));
    variables = {{name, value}};
    read();
    CHECK(error == message);
  }
}
