#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/calibration/capture/recording_place.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"

using namespace gradwire::calibration;

namespace {

struct Run {
  int code = 0;
  std::string err;
};

/// Runs the client with these words and these settings, in an environment that loads the library.
Run run_client(const RecordingPlace& place, const std::string& words,
               const std::string& settings = "") {
  const std::string err = place.path() + "/err";
  const std::string command = "NVTX_INJECTION64_PATH='" GRADWIRE_INJECT_LIBRARY "' GRADWIRE_OUT='" +
                              place.path() + "' " + settings + " '" GRADWIRE_NVTX_CLIENT "' " +
                              words + " 2> '" + err + "'";
  const int status = std::system(command.c_str());
  std::ifstream file(err);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          std::string(std::istreambuf_iterator<char>(file), {})};
}

Recording only_recording(const RecordingPlace& place) {
  const std::vector<std::string> files = recording_files(place.path());
  REQUIRE(files.size() == 1);
  return read_recording(files[0]);
}

}  // namespace

TEST_CASE("an unmodified program's ranges are recorded, to its end", "[inject]") {
  const RecordingPlace place("inject_ranges");
  const Run run = run_client(place, "ranges 100", "RANK=2 WORLD_SIZE=4");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  const Recording recording = only_recording(place);
  CHECK_FALSE(recording.trace.cut_off);
  CHECK(recording.trace.rank == 2);
  CHECK(recording.trace.world_size == 4);
  CHECK(recording.trace.file.find("full.rank2.") != std::string::npos);
  CHECK(ranges_named(recording.trace, "aten::mm").size() == 100);
  CHECK(recording.trace.marks.size() == 100);
  CHECK_THAT(recording.command, Catch::EndsWith(" (2 words not recorded)"));
}

TEST_CASE("a program that leaves without exit handlers keeps all that was marked", "[inject]") {
  const RecordingPlace place("inject_exit");
  CHECK(run_client(place, "ranges 50 _exit").code == 0);
  const Recording recording = only_recording(place);
  CHECK(recording.trace.cut_off);
  CHECK(recording.trace.marks.size() == 50);
  CHECK(ranges_named(recording.trace, "aten::mm").size() == 50);
}

TEST_CASE("a fork that ends by the parent's exit handlers leaves the parent's file alone",
          "[inject][fork]") {
  const RecordingPlace place("inject_fork");
  CHECK(run_client(place, "ranges 3 fork").code == 0);
  const Recording recording = only_recording(place);
  CHECK_FALSE(recording.trace.cut_off);
  CHECK(recording.trace.marks.size() == 4);  // 3, then 1; the child's 5 are nobody's
}

TEST_CASE("the whole command line is kept on demand", "[inject]") {
  const RecordingPlace place("inject_command");
  CHECK(run_client(place, "ranges 3", "GRADWIRE_COMMAND_LINE=1").code == 0);
  CHECK_THAT(only_recording(place).command, Catch::EndsWith(" ranges 3"));
}

TEST_CASE("children that are forked while strings are registered register theirs",
          "[inject][fork]") {
  const RecordingPlace place("inject_strings");
  // Each of 60 children ends by an alarm after 5 s, and the client with 1, where it hangs.
  CHECK(run_client(place, "strings 60").code == 0);
}

TEST_CASE("without a driver the program runs on, and hears why no device is recorded", "[inject]") {
  const RecordingPlace place("inject_no_driver");
  const Run run = run_client(place, "cuda '" GRADWIRE_INJECT_LIBRARY "'");
  REQUIRE(run.code == 0);
  if (run.err.empty()) {
    gradwire::test::skip("this machine has a driver");
    return;
  }
  CHECK_THAT(run.err, Catch::ContainsSubstring("gradwire: "));
  CHECK_THAT(run.err, Catch::ContainsSubstring("no device is recorded\n"));
  const Recording recording = only_recording(place);
  CHECK(run.err == "gradwire: " + recording.no_device + "; no device is recorded\n");
  CHECK_FALSE(recording.trace.cut_off);
}

TEST_CASE("settings that are not understood stop the recorder only", "[inject]") {
  const RecordingPlace place("inject_settings");
  const Run run = run_client(place, "ranges 3", "GRADWIRE_MODE=loud");
  CHECK(run.code == 0);
  CHECK(run.err ==
        "gradwire: GRADWIRE_MODE='loud' is not understood; expected light or full; nothing is "
        "recorded\n");
  CHECK(recording_files(place.path()).empty());
}
