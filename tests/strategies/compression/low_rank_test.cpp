#include "strategies/compression/low_rank.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

LowRankGroup factors_of(std::int64_t rows, std::int64_t rank) {
  return {.matrices = {{.rows = rows, .columns = rows, .rank = rank}}};
}

}  // namespace

TEST_CASE("a QR of 8 columns and more takes the published time within 12 %",
          "[compression][low_rank]") {
  struct Published {
    std::int64_t rows, columns;
    double microseconds;
  };
  const Published row = GENERATE(Published{8192, 8, 112.2},   // FlagGems/FlagGems pull request 5586
                                 Published{128, 32, 178.6},   // the same
                                 Published{512, 64, 258.8},   // the same
                                 Published{128, 32, 189.0},   // pytorch/pytorch pull request 173788
                                 Published{1024, 8, 118.1});  // pytorch/pytorch pull request 76673
  const CodecWork work = orthogonalise(factors_of(row.rows, row.columns), true, 1);
  CAPTURE(row.rows, row.columns);
  CHECK(work.time.count() * 1e6 == Approx(row.microseconds).epsilon(0.12));
  CHECK(work.kernels == 1);
}

TEST_CASE("factors below the rank of the QR are orthogonalised column by column",
          "[compression][low_rank]") {
  const LowRankGroup group = factors_of(1024, 2);
  const CodecWork columns = orthogonalise(group, true, 3);
  CHECK(columns.time == Seconds{});
  CHECK(columns.kernels == 2 * 6);
  CHECK(orthogonalise(group, true, never).kernels == columns.kernels);
  CHECK(orthogonalise(group, true, 2).kernels == 1);
}

TEST_CASE("one QR saves launches at high ranks and costs some at low ones",
          "[compression][low_rank]") {
  constexpr double launch = 2.64e-6;  // profiles/gpus/v100-sxm2-32gb.yaml
  const auto seconds = [](const CodecWork& work) {
    return work.time.count() + work.kernels * launch;
  };
  CHECK(seconds(orthogonalise(factors_of(1024, 32), true, 1)) <
        0.5 * seconds(orthogonalise(factors_of(1024, 32), true, never)));
  CHECK(seconds(orthogonalise(factors_of(1024, 2), true, 1)) >
        seconds(orthogonalise(factors_of(1024, 2), true, never)));
}
