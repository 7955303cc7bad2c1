#include "sim/train/gain.hpp"

#include <cstddef>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// One GPU alone takes 100 ms, 10 of them its optimizer.
RunResult result(double backward, double optimizer) {
  RunResult made;
  made.single_gpu_iteration_s = 0.1;
  made.breakdown[static_cast<std::size_t>(Part::backward)] = backward;
  made.breakdown[static_cast<std::size_t>(Part::optimizer)] = optimizer;
  return made;
}

}  // namespace

TEST_CASE("An iteration shorter than one GPU's alone is reported with its reason",
          "[train][gain]") {
  const auto divided = gain_warning(result(0.09, 0.0025), Seconds{0.01});
  REQUIRE(divided);
  CHECK(divided->code == "beats-one-gpu");
  CHECK(divided->text ==
        "an iteration takes 92.5 ms, that of a single GPU 100: its optimizer takes 2.5 of 10 ms; "
        "the rest is divided among ranks, done by servers, or in an iteration that is not measured "
        "(more run.warmup)");
  const auto hidden = gain_warning(result(0.08, 0.01), Seconds{0.01});
  REQUIRE(hidden);
  CHECK(hidden->text ==
        "an iteration takes 90 ms, that of a single GPU 100: more of what the host does is behind "
        "the GPU's work, such as the optimizer's kernels between the next forward's layers");
  // The sum of its shares is the whole but for rounding: nothing is divided.
  const auto rounded = gain_warning(result(0.08, 0.01 * (1 - 1e-12)), Seconds{0.01});
  REQUIRE(rounded);
  CHECK(rounded->text == hidden->text);
}

TEST_CASE("What is shown as 100.0 % efficient needs no reason", "[train][gain]") {
  CHECK_FALSE(gain_warning(result(0.09, 0.01), Seconds{0.01}));
  CHECK_FALSE(gain_warning(result(0.08996, 0.01), Seconds{0.01}));  // 100.04 %
  CHECK(gain_warning(result(0.08994, 0.01), Seconds{0.01}));        // 100.06 %
}

}  // namespace gradwire
