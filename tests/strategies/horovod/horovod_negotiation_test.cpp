#include "strategies/horovod/horovod_negotiation.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Groups = std::vector<std::vector<std::size_t>>;

HorovodRequest dense(std::int64_t size) {
  return {.size = Bytes{size}, .tensors = {}};
}
HorovodRequest gathered(std::int64_t size) {
  return {.kind = RequestKind::gather, .size = Bytes{size}, .tensors = {}};
}

JobView cluster_job(int world_size, int machines, Seconds latency) {
  auto job = toy_job({10});
  job.world_size = world_size;
  job.machines = machines;
  job.message_latency = latency;
  return job;
}

}  // namespace

TEST_CASE("Horovod fuses what follows up to the threshold and never beyond", "[horovod]") {
  const std::vector<HorovodRequest> requests = {dense(40), dense(60), dense(1), dense(99)};
  CHECK(fuse_responses(requests, {.threshold = Bytes{100}}) == Groups{{0, 1}, {2, 3}});
  CHECK(fuse_responses(requests, {.threshold = Bytes{99}}) == Groups{{0}, {1, 2}, {3}});
  CHECK(fuse_responses(requests, {.threshold = Bytes{0}}) == Groups{{0}, {1}, {2}, {3}});
}

TEST_CASE("fused sizes count as multiples of 16 bytes where one kernel copies many", "[horovod]") {
  const std::vector<HorovodRequest> requests = {dense(17), dense(16)};
  CHECK(fuse_responses(requests, {.threshold = Bytes{47}}) == Groups{{0, 1}});  // 33
  CHECK(fuse_responses(requests, {.threshold = Bytes{47}, .rounding = 16}) ==
        Groups{{0}, {1}});  // 32 + 16 = 48
}

TEST_CASE("fusion looks beyond another kind while all that was skipped fits", "[horovod]") {
  const std::vector<HorovodRequest> requests = {dense(10), gathered(30), dense(20), gathered(5)};
  // 10 + 30 skipped <= 60, then 10 + 20 fused; the two all-gathers are fused after it.
  CHECK(fuse_responses(requests, {.threshold = Bytes{60}}) == Groups{{0, 2}, {1, 3}});
  // 10 + 30 > 39: the head goes alone, and so does the all-gather (30 + 20 > 39).
  CHECK(fuse_responses(requests, {.threshold = Bytes{39}}) == Groups{{0}, {1}, {2}, {3}});
}

TEST_CASE("groups apart fuse within themselves, before all others, and a lone tensor is one",
          "[horovod][groups]") {
  // As enqueued: t4 and t2 of group 1, t0 of none, t3 and t1 of group 0, a gather.
  std::vector<HorovodRequest> requests = {dense(10), dense(10), dense(10),
                                          dense(10), dense(10), gathered(10)};
  const std::vector<RequestName> names = {4, 2, 0, 3, 1, 9};
  const std::vector<int> groups = {1, 1, -1, 0, 0, -1};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].name = names[i];
    requests[i].group = groups[i];
  }
  HorovodFusion fusion{.threshold = Bytes{100}, .groups_apart = true};
  CHECK(fuse_responses(requests, fusion) == Groups{{1, 0}, {2}, {4, 3}, {5}});
  SECTION("those that are cached come after the others") {
    fusion.cached = 3;
    CHECK(fuse_responses(requests, fusion) == Groups{{4, 3}, {1, 0}, {2}, {5}});
  }
  SECTION("a group above the threshold is cut as any list") {
    fusion.threshold = Bytes{19};
    CHECK(fuse_responses(requests, fusion) == Groups{{1}, {0}, {2}, {4}, {3}, {5}});
  }
  SECTION("without the option groups fuse as one list") {
    fusion.groups_apart = false;
    CHECK(fuse_responses(requests, fusion) == Groups{{0, 1, 2, 3, 4}, {5}});
  }
}

TEST_CASE("the response cache forgets what was used longest ago", "[horovod]") {
  ResponseCache cache(2);
  cache.use(7);
  cache.use(8);
  CHECK(cache.bit(7) < cache.bit(8));
  cache.use(7);
  cache.use(9);  // in place of 8
  CHECK(cache.holds(7));
  CHECK_FALSE(cache.holds(8));
  CHECK(cache.bit(7) < cache.bit(9));
  ResponseCache off(0);
  off.use(7);
  CHECK_FALSE(off.holds(7));
}

TEST_CASE("negotiation costs a tree of latencies when cached, and lists at rank 0 when not",
          "[horovod]") {
  HorovodOptions options;
  options.request_time = Seconds{1e-6};
  options.local_latency = Seconds{2e-6};
  const auto job = cluster_job(32, 8, Seconds{20e-6});
  // Tree over 8 machines of 4: 3 * 20 us + 2 * 2 us = 64 us.
  CHECK(Negotiation(options, job).time(0).count() == Approx(64e-6));
  // Bit vector, gather of lengths and two broadcasts: 4 * 64 us; lists 20 us; 32 * (1 + 5) us.
  CHECK(Negotiation(options, job).time(5).count() == Approx(4 * 64e-6 + 20e-6 + 192e-6));
  options.cache_capacity = 0;  // no bit vector, and lists in every cycle
  CHECK(Negotiation(options, job).time(0).count() == Approx(3 * 64e-6 + 20e-6 + 32e-6));

  SECTION("and grows with the number of ranks") {
    const auto large = cluster_job(1024, 256, Seconds{20e-6});
    // Tree: 8 * 20 us + 2 * 2 us = 164 us; rank 0 parses 1024 * (1 + 5) requests.
    CHECK(Negotiation(options, large).time(5).count() ==
          Approx(3 * 164e-6 + 20e-6 + 1024 * 6 * 1e-6));
  }
}
