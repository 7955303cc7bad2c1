#include "sim/cost/closed_form.hpp"

#include "tests/catch.hpp"

namespace gradwire {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

TEST_CASE("A ring all-reduce takes 2(n-1) steps of alpha + S/(n B)", "[cost][closed-form]") {
  // n = 4, S = 100 MB, B = 10 GB/s, alpha = 5 us: 6 steps of 5 us + 100e6 / (4 * 10e9) s = 2.5 ms:
  // 6 * 2.505 ms = 15.03 ms.
  CHECK(ring_all_reduce_time(4, 100_MB, 5_us, 10_GBps).count() == Approx(15.03e-3).epsilon(1e-12));
  // n = 2, S = 0: two latencies.
  CHECK(ring_all_reduce_time(2, Bytes{0}, 5_us, 10_GBps).count() == Approx(10e-6));
  CHECK(ring_all_reduce_time(1, 100_MB, 5_us, 10_GBps) == Seconds{});
}

TEST_CASE("A chain takes n-1 rounds for its first piece and one for each other",
          "[cost][closed-form]") {
  // n = 5, S = 80 MB, 8 pieces of 10 MB at 10 GB/s = 1 ms each, alpha = 10 us:
  // 4 + 7 rounds of 1.01 ms = 11.11 ms.
  CHECK(chain_broadcast_time(5, 8, 80_MB, 10_us, 10_GBps).count() ==
        Approx(11.11e-3).epsilon(1e-12));
  // One hop: 8 ms and a latency a piece.
  CHECK(chain_broadcast_time(2, 8, 80_MB, 10_us, 10_GBps).count() == Approx(8.08e-3));
  CHECK(chain_broadcast_time(2, 1, 80_MB, 10_us, 10_GBps).count() == Approx(8.01e-3));
  CHECK(chain_broadcast_time(1, 8, 80_MB, 10_us, 10_GBps) == Seconds{});
}

}  // namespace gradwire
