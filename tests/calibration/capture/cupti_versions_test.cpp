#include <cstdint>
#include <string>

#include "calibration/attribution/attribution.hpp"
#include "tests/calibration/capture/mock_run.hpp"
#include "tests/catch.hpp"

using namespace gradwire::calibration;

TEST_CASE("CUPTI 12 of a wheel tells graphs and devices to a recorder built against another",
          "[cupti]") {
  MockRun run("version");
  run.mock.version = 22;  // CUDA 12.4: kernels are CUpti_ActivityKernel9, of another length
  REQUIRE(run.start());
  run.mock.launch("kernel", 10, 20, 1);
  run.mock.launch("second", 30, 40, 2);
  const Recording read = run.finish();
  REQUIRE(read.trace.device.size() == 2);
  CHECK(read.trace.device[1].correlation == 2);
  CHECK(read.trace.device[1].blocks == 24);
  CHECK(read.trace.device[0].graph == 5);
  REQUIRE(read.trace.devices.size() == 1);
  CHECK(read.trace.devices[0].multiprocessors == 132);
  CHECK(read.cupti == 22);
  CHECK(read.cupti_headers == CUPTI_API_VERSION);
  // So that a program of CUDA graphs is refused under it too.
  CHECK_THROWS_WITH(attribute(read.trace),
                    Catch::ContainsSubstring("2 kernels ran in CUDA graphs"));
}

TEST_CASE("a CUPTI whose records are not known is refused by its version", "[cupti]") {
  const auto [version, known] = GENERATE(table<std::uint32_t, bool>({{0, false},
                                                                     {18, false},  // CUDA 11.8
                                                                     {19, true},   // 12.0
                                                                     {28, true},   // 12.9
                                                                     {120400, false},
                                                                     {130000, true},
                                                                     {130201, true},
                                                                     {140000, false}}));
  MockRun run("unknown");
  run.mock.version = version;
  CAPTURE(version);
  CHECK(run.start() == known);
  if (known) return;
  CHECK(run.why == "the records of CUPTI " + std::to_string(version) +
                       " are not known; expected that of CUDA 12 (versions 19 to 99) or 13 (130000 "
                       "to 139999)");
  CHECK(run.mock.enabled.empty());
}

TEST_CASE("a MIG slice is told by CUPTI, and no profile is made of it", "[cupti][mig]") {
  MockRun run("mig");
  run.mock.mig = true;
  run.mock.in_graphs = false;
  REQUIRE(run.start());
  run.mock.launch("kernel", 10, 20, 1);
  const Recording read = run.finish();
  REQUIRE(read.trace.devices.size() == 1);
  CHECK(read.trace.devices[0].mig);
  CHECK_THROWS_WITH(attribute(read.trace),
                    Catch::ContainsSubstring("ran on a MIG slice of 'NVIDIA Mock' with 132 "
                                             "multiprocessors"));
}
