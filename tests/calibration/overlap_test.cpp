#include "calibration/attribution/overlap.hpp"

#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

/// Iterations of 12 kernels of one kind; in every second one communication runs beside all of them
/// and makes them `factor` times as long.
Attribution alternating(double factor, int kernels = 12, bool always = false) {
  Attribution attribution;
  attribution.layers.resize(1);
  attribution.layers[0].kind = "conv3";
  Nanoseconds now = 0;
  for (int i = 0; i < 6; ++i) {
    IterationTimes times;
    const bool beside = always || i % 2 == 1;
    const Nanoseconds start = now;
    for (int kernel = 0; kernel < kernels; ++kernel) {
      const Nanoseconds alone = 1000 * (1 + kernel);
      const auto duration = static_cast<Nanoseconds>(beside ? factor * static_cast<double>(alone)
                                                            : static_cast<double>(alone));
      times.kernels.push_back({now, now + duration});
      times.layer_of_kernel.push_back(0);
      now += duration;
    }
    if (beside) times.collectives.push_back({start, now});
    attribution.iterations.push_back(times);
  }
  return attribution;
}

TEST_CASE("Kernels beside communication are compared with themselves without it",
          "[calibration][overlap]") {
  const auto slowdown = overlap_slowdown(alternating(1.25));
  REQUIRE(slowdown.contains("conv3"));
  CHECK(slowdown.at("conv3").slowdown == Approx(1.25));
  CHECK(slowdown.at("conv3").kernels == 12);
}

TEST_CASE("A kernel that is beside communication for half its time tells the whole slowdown",
          "[calibration][overlap]") {
  Attribution attribution = alternating(1.2);
  for (IterationTimes& times : attribution.iterations) {
    // Half of each kernel; t = t0 (1 + 0.4 * 0.5) makes s = 0.4.
    if (times.collectives.empty()) continue;
    times.collectives.clear();
    for (const DeviceInterval& kernel : times.kernels) {
      times.collectives.push_back({kernel.start, kernel.start + (kernel.end - kernel.start) / 2});
    }
  }
  CHECK(overlap_slowdown(attribution).at("conv3").slowdown == Approx(1.4).epsilon(1e-3));
}

TEST_CASE("Faster beside communication is noise, few kernels and equal iterations say nothing",
          "[calibration][overlap]") {
  CHECK(overlap_slowdown(alternating(0.9)).at("conv3").slowdown == 1);
  CHECK(overlap_slowdown(alternating(1.2, 9)).empty());
  CHECK(overlap_slowdown(alternating(1.2, 12, true)).empty());
}

}  // namespace
}  // namespace gradwire::calibration
