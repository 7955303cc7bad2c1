#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace gradwire;

namespace {

/// No driver, whatever the machine has.
const std::string no_driver = "env GRADWIRE_NVML=/nonexistent/libnvidia-ml.so.1";

}  // namespace

TEST_CASE("calibrate record without a driver says so and runs nothing", "[calibrate]") {
  const Workplace place("record_no_driver");
  const auto run = place.run("calibrate record -- touch ran", no_driver);
  CHECK(run.code == 4);
  CHECK(run.err ==
        "gradwire: no NVIDIA driver: /nonexistent/libnvidia-ml.so.1: cannot open shared object "
        "file: No such file or directory; expected a machine with an NVIDIA GPU and its driver "
        "(docker: --gpus all)\n");
  CHECK_FALSE(place.has("ran"));
  CHECK_FALSE(place.has("calibration"));
}

TEST_CASE("calibrate record without its library says where it belongs", "[calibrate]") {
  const Workplace place("record_no_library");
  const auto run =
      place.run("calibrate record --no-gpu -- touch ran", "env GRADWIRE_INJECT=/nonexistent.so");
  CHECK(run.code == 4);
  CHECK_THAT(run.err, Catch::ContainsSubstring("gradwire: no recorder: expected "));
  CHECK_FALSE(place.has("ran"));
}

TEST_CASE("calibrate record wants a program", "[calibrate]") {
  const Workplace place("record_no_program");
  CHECK(place.run("calibrate record").code == 2);
  CHECK(place.run("calibrate record --mode loud -- true").code == 2);
}

#ifdef GRADWIRE_NVTX_CLIENT
TEST_CASE("calibrate record runs a program and tells what was recorded", "[calibrate]") {
  const Workplace place("record_program");
  const auto run = place.run(
      "calibrate record -o node --name small --no-gpu -- '" GRADWIRE_NVTX_CLIENT "' ranges 10");
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::ContainsSubstring(
                          "rank 0 of 1: 9 iterations, 0 kernels, 0 copies and memsets, 10 ranges, "
                          "0 dropped\n"));
  CHECK_THAT(run.err, Catch::ContainsSubstring("node/recordings/small/full.rank0."));
  // A second recording of that name would mix with the first.
  const std::string again =
      "calibrate record -o node --name small --no-gpu -- '" GRADWIRE_NVTX_CLIENT "' ranges 3";
  CHECK(place.run(again).code == 2);
  CHECK(place
            .run("calibrate record --force -o node --name small --no-gpu --skip 1 --iterations 1 "
                 "-- '" GRADWIRE_NVTX_CLIENT "' ranges 5")
            .err.find("1 iterations, 0 kernels, 0 copies and memsets, 1 ranges") !=
        std::string::npos);
}

TEST_CASE("calibrate record passes on the program's end", "[calibrate]") {
  const Workplace place("record_end");
  SECTION("its exit code") {
    CHECK(place.run("calibrate record --no-gpu -- sh -c 'exit 7'").code == 7);
  }
  SECTION("its signal") {
    CHECK(place.run("calibrate record --no-gpu -- sh -c 'kill -9 $$'").code == 128 + 9);
  }
  SECTION("that it cannot be run") {
    CHECK(place.run("calibrate record --no-gpu -- /nonexistent").code == 127);
  }
  SECTION("that it did nothing to record") {
    const auto run = place.run("calibrate record --no-gpu -- true");
    CHECK(run.code == 1);
    CHECK_THAT(run.err, Catch::ContainsSubstring("gradwire: nothing was recorded: "));
  }
  SECTION("a signal that we get is the program's") {
    place.write("waits.sh", "trap 'touch told; exit 5' TERM\nsleep 30 & wait\n");
    static_cast<void>(place.run("calibrate record --no-gpu -- sh waits.sh", "timeout -s TERM 3"));
    CHECK(place.has("told"));
  }
}
#endif
