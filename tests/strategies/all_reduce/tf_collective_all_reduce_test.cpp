#include "strategies/all_reduce/tf_collective_all_reduce.hpp"

#include <vector>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Two machines of two ranks.
JobView two_pairs(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 1, 1}, elements);
}

TfRing ring_of(const std::vector<Bytes>& sizes, Poster& poster) {
  return {RemoteCalls{}, two_pairs({10}), sizes, poster};
}

/// The ranks that a ring's exchange moves between, as pairs.
std::vector<std::pair<int, int>> hops(const Exchange& exchange) {
  std::vector<std::pair<int, int>> pairs;
  for (const Message& message : exchange.phases.at(0)) {
    pairs.emplace_back(message.from.index, message.to.index);
  }
  return pairs;
}

}  // namespace

// Five variables of 40, 80, 120, 160 and 200 bytes, packed from the last one on.
TEST_CASE("TensorFlow closes a pack with the gradient that exceeds bytes_per_pack",
          "[tensorflow]") {
  const auto packs = [](std::int64_t bytes) {
    TfCollectiveOptions options;
    options.bytes_per_pack = Bytes{bytes};
    std::vector<std::int64_t> sizes;
    const TfCollectiveAllReduce strategy(options, two_pairs({10, 20, 30, 40, 50}));
    for (const PlanGroup& pack : strategy.plan(0)) sizes.push_back(pack.size.count());
    return sizes;
  };
  CHECK(packs(0) == std::vector<std::int64_t>{600});
  // 200 does not exceed 200, with 160 it does: group_by_size asks for more than bytes_per_pack.
  CHECK(packs(200) == std::vector<std::int64_t>{360, 240});
  CHECK(packs(199) == std::vector<std::int64_t>{200, 280, 120});
  CHECK(packs(1) == std::vector<std::int64_t>{200, 160, 120, 80, 40});
}

TEST_CASE("TensorFlow reduces packs in their order, whichever gradient comes first",
          "[tensorflow]") {
  TfCollectiveOptions options{.nccl = true};
  options.bytes_per_pack = Bytes{1};  // a pack a gradient: 2, 1, 0
  TfCollectiveAllReduce strategy(options, two_pairs({10, 20, 30}));
  const auto fired = [&](TensorId tensor) {
    return collective_sizes(strategy.on_event(Seconds{}, HookFired{.tensor = tensor}));
  };
  CHECK(fired(1).empty());
  CHECK(fired(2) == std::vector<std::int64_t>{120, 80});
  CHECK(fired(0) == std::vector<std::int64_t>{40});
  const auto done = strategy.on_event(Seconds{}, BackwardDone{});
  // For each pack a gate and its update, of 30, 20 and 10 of 60 elements; single gradients are not
  // copied.
  REQUIRE(done.size() == 6);
  CHECK(std::get<Gate>(done[0]).until == std::vector<OperationId>{0});
  CHECK(std::get<OptimizerStep>(done[1]).share == Approx(0.5));
  CHECK(std::get<OptimizerStep>(done[5]).share == Approx(1.0 / 6));
  CHECK(fired(2) == std::vector<std::int64_t>{120});  // and so the next iteration
}

TEST_CASE("TensorFlow's ring keeps chunks at 4 MiB with up to two rings a device", "[tensorflow]") {
  Poster poster;
  const auto ring = ring_of({}, poster);
  // Four ranks: chunks of a quarter; devices 2, so at most four rings.
  CHECK(ring.subdivisions(16 * Bytes{1 << 20}) == 1);
  CHECK(ring.subdivisions(17 * Bytes{1 << 20}) == 2);
  CHECK(ring.subdivisions(48 * Bytes{1 << 20}) == 3);
  CHECK(ring.subdivisions(64 * Bytes{1 << 20}) == 4);
  CHECK(ring.subdivisions(1024 * Bytes{1 << 20}) == 4);
}

TEST_CASE("TensorFlow's rings start at another device, every second one the other way round",
          "[tensorflow]") {
  using Pairs = std::vector<std::pair<int, int>>;
  Poster poster;
  // Two rings: offsets 0 and -1 (devices 2, stride 1). Of -1 the devices of a task are taken from
  // the second of the reversed order on: 0, 1 again.
  const auto two = ring_of({32 * Bytes{1 << 20}}, poster).exchanges();
  REQUIRE(two.size() == 6);
  CHECK(hops(two[0]) == Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  CHECK(hops(two[1]) == Pairs{{1, 1}, {3, 3}});  // to host memory: who sends to another machine
  CHECK(hops(two[2]) == Pairs{{2, 2}, {0, 0}});
  CHECK(hops(two[3]) == hops(two[0]));
  // Three rings: 0, -1 and 2, which is 0 again.
  CHECK(ring_of({48 * Bytes{1 << 20}}, poster).exchanges().size() == 9);
  // Of one ring there is one.
  CHECK(ring_of({Bytes{1}}, poster).exchanges().size() == 3);
}

TEST_CASE("TensorFlow's rings copy beside each other and use the wire one after the other",
          "[tensorflow]") {
  Poster poster;
  auto ring = ring_of({32 * Bytes{1 << 20}}, poster);
  bool reduced = false;
  ring.reduce(32 * Bytes{1 << 20}, {0}, [&] { reduced = true; });
  // Operations 0 and 1: both rings' copies to the host, 3/4 of half of 32 MiB each.
  auto posted = poster.take();
  REQUIRE(posted.size() == 2);
  CHECK(std::get<Messages>(posted[1]).size == 12 * Bytes{1 << 20});
  poster.done(0);
  poster.done(1);
  posted = poster.take();
  REQUIRE(posted.size() == 1);  // 2: the first ring's hop; the second one's waits
  CHECK(std::get<Messages>(posted[0]).label == "ring");
  poster.done(2);
  // 3: the second ring's hop; 4: the first one's copy to the GPU.
  posted = poster.take();
  REQUIRE(posted.size() == 2);
  CHECK(std::get<Messages>(posted[0]).exchange == 3);
  CHECK(std::get<Messages>(posted[1]).label == "copy to GPU");
  poster.done(4);
  posted = poster.take();
  REQUIRE(posted.size() == 1);  // 5: three additions of 4 MiB, which read two and write one
  CHECK(std::get<DeviceWork>(posted[0]).kernels == 3);
  CHECK(std::get<DeviceWork>(posted[0]).traffic == 36 * Bytes{1 << 20});
  // Whatever is under way ends, until both have gone round twice.
  OperationId next = 3;
  OperationId known = 6;
  while (next < known) {
    if (next != 4) poster.done(next);
    ++next;
    known += static_cast<OperationId>(poster.take().size());
  }
  CHECK(reduced);
}

TEST_CASE("TensorFlow's collective all-reduce synchronises nothing on one rank", "[tensorflow]") {
  JobView job = toy_job({10});
  job.world_size = 1;
  TfCollectiveAllReduce strategy({}, job);
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(strategy.on_event(Seconds{}, BackwardDone{}).empty());
  CHECK_FALSE(strategy.traits().own_optimizer);
}
