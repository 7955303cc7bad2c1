#include "tests/cost/closed_form.hpp"

#include "tests/catch.hpp"

namespace gradwire::test {

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

TEST_CASE("Closed forms count steps and bytes", "[cost][closed-form]") {
  struct Case {
    const char* algorithm;
    CollectiveKind kind;
    int ranks;
    double steps;
    double share;
  };
  using enum CollectiveKind;
  const auto one = GENERATE(values<Case>({
      {"ring", all_reduce, 8, 14, 14.0 / 8},
      {"ring", reduce_scatter, 8, 7, 7.0 / 8},
      {"ring", broadcast, 8, 70, 70.0 / 64},  // 7 hops, 63 pieces behind the first of 64
      {"halving_doubling", all_reduce, 8, 6, 14.0 / 8},
      {"halving_doubling", all_gather, 16, 4, 15.0 / 16},
      {"recursive_doubling", all_reduce, 8, 3, 3},
      {"recursive_doubling", all_reduce, 9, 5, 5},
      {"rabenseifner", all_reduce, 8, 6, 14.0 / 8},
      // 11 = 8 + 3: a hand-over of all, 3 halvings of 8 ranks, 3 doublings, a hand-back of all.
      {"rabenseifner", all_reduce, 11, 8, 14.0 / 8 + 2},
      {"rabenseifner", reduce, 11, 7, 14.0 / 8 + 1},
      {"binomial_tree", broadcast, 9, 4, 4},
      {"binomial_tree", gather, 9, 4, 8.0 / 9},
      {"pairwise", all_to_all, 9, 8, 8.0 / 9},
      {"direct", all_to_all, 9, 1, 8.0 / 9},
      {"direct", send_recv, 9, 1, 1},
      {"torus", all_reduce, 12, 2 * (2 + 3), 2 * 11.0 / 12},      // 3 x 4
      {"torus", all_reduce, 64, 2 * (3 + 3 + 3), 2 * 63.0 / 64},  // 4 x 4 x 4
  }));
  INFO(one.algorithm << ' ' << name_of(one.kind) << ' ' << one.ranks);
  const auto form = closed_form(one.algorithm, one.kind, one.ranks);
  REQUIRE(form.has_value());
  CHECK(form->steps == Approx(one.steps).epsilon(1e-12));
  CHECK(form->share == Approx(one.share).epsilon(1e-12));
  // 100 MB at 10 GB/s take 10 ms.
  CHECK(form->time(100_MB, 5_us, 10_GBps).count() ==
        Approx(one.steps * 5e-6 + one.share * 10e-3).epsilon(1e-12));
  const auto alone = closed_form(one.algorithm, one.kind, 1);
  REQUIRE(alone.has_value());
  CHECK(alone->steps == 0);
  CHECK(alone->share == 0);
}

TEST_CASE("What has no closed form gives none", "[cost][closed-form]") {
  CHECK_FALSE(closed_form("halving_doubling", CollectiveKind::all_reduce, 12).has_value());
  CHECK_FALSE(closed_form("recursive_doubling", CollectiveKind::all_gather, 12).has_value());
  CHECK_FALSE(closed_form("torus", CollectiveKind::all_reduce, 13).has_value());
  CHECK_FALSE(closed_form("ring", CollectiveKind::all_to_all, 8).has_value());
  CHECK_FALSE(closed_form("rnig", CollectiveKind::all_reduce, 8).has_value());
}

TEST_CASE("A hierarchical all-reduce is a ring inside and a ring across", "[cost][closed-form]") {
  // 8 ranks on each of 4 machines, 80 MB: inside 14 steps of 1 us + 80e6 / (8 * 100e9) s = 0.1 ms;
  // across 6 steps of 5 us + 80e6 / (4 * 20e9) s = 1 ms.
  const Hops inside{1_us, 100_GBps};
  const Hops across{5_us, 20_GBps};
  CHECK(hierarchical_all_reduce_time(8, 4, 80_MB, inside, across).count() ==
        Approx(14 * 0.101e-3 + 6 * 1.005e-3).epsilon(1e-12));
}

}  // namespace gradwire::test
