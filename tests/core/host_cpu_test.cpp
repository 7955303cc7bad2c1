#include "sim/core/host_cpu.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("sums slow down where no cache holds the arrays, from 14.2 to 3.8 GB/s", "[host_cpu]") {
  constexpr std::int64_t mib = 1024 * 1024;
  constexpr HostCpu cpu{BytesPerSecond{14.2e9}, BytesPerSecond{3.8e9}, Bytes{16 * mib},
                        Bytes{64 * mib}};
  CHECK(cpu.sum_slowdown(Bytes{4}) == 1);
  CHECK(cpu.sum_slowdown(Bytes{16 * mib}) == Approx(1));
  // 32 MiB is half way from 16 to 64 on a logarithmic scale, so the factor is the square root.
  CHECK(cpu.sum_slowdown(Bytes{32 * mib}) == Approx(std::sqrt(14.2 / 3.8)));
  CHECK(cpu.sum_slowdown(Bytes{64 * mib}) == Approx(14.2 / 3.8));
  CHECK(cpu.sum_slowdown(Bytes{400 * mib}) == Approx(14.2 / 3.8));
}
