#include "sim/train/workers.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

const ComputeProfile no_layers;

ComputeItem work(double seconds, double slowdown = 1) {
  return {.part = Part::backward, .seconds = seconds, .slowdown = slowdown};
}
ComputeItem end_of_iteration() {
  return {.type = ComputeItem::Type::end};
}

double part(const Workers& workers, std::size_t member, Part which) {
  return workers.samples()[member].parts[static_cast<std::size_t>(which)];
}

struct WorkersFixture {
  IterationDraws draws{JitterSpec{}, no_layers, 1};
  OperationLog log;
  Activity activity;
  Workers workers;
  explicit WorkersFixture(std::vector<MemberGroup> members, CommunicationStream stream = {},
                          GpuCapacity gpu = {})
      : workers(std::move(members), {}, log, activity, {gpu}, stream) {
    workers.begin_iteration(draws);
  }
  /// The n-th one has position and operation n.
  OperationId post_all_reduce(GpuLoad waiting = {}, GpuLoad moving = {}) {
    CommunicationItem item;
    item.waiting = waiting;
    item.moving = moving;
    item.collective = {.size = Bytes{4}, .tensors = {}, .label = "all-reduce"};
    item.operation = log.add();
    return static_cast<OperationId>(workers.post(std::move(item)));
  }
};

/// Work of layers 0 and 1, 10 s each, with an all-reduce between them. @return its position.
std::size_t post_around_all_reduce(Workers& workers, OperationLog& log) {
  auto first = work(10);
  first.layer = 0;
  auto second = work(10);
  second.layer = 1;
  workers.post(first, "w");
  CommunicationItem all_reduce;
  all_reduce.operation = log.add();
  const OperationId operation = all_reduce.operation;
  const std::size_t position = workers.post(std::move(all_reduce));
  workers.post_gate({operation});
  workers.post(second, "w");
  workers.post(end_of_iteration(), "end");
  return position;
}

}  // namespace

TEST_CASE("a collective starts when its last rank arrives", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}});
  f.workers.post(work(3), "w");
  f.post_all_reduce();
  f.workers.run(0);
  const auto head = f.workers.take_ready();
  REQUIRE(head == std::size_t{0});
  CHECK(f.workers.collective(0).start == 6);  // the rank that runs at half speed
  CHECK_FALSE(f.workers.take_ready().has_value());
}

TEST_CASE("compute is slowed while a kernel spins for late ranks", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}});
  f.workers.post(work(1), "w");
  f.post_all_reduce();
  f.workers.post(work(3, 1.5), "w");
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());  // arrives at 1 and 2, starts at 2
  f.workers.finish(0, 3.0);
  // Rank 0 is slowed from 1 to 3: 2/1.5 of its 3 s are done, 5/3 s are left: ends at 3 + 5/3.
  // Rank 1 has 6 s of work, slowed from 2 to 3: 1/1.5 done, ends at 3 + 6 - 2/3.
  REQUIRE(f.workers.iteration_ended());
  CHECK(f.workers.samples()[0].end == Approx(3 + 5.0 / 3));
  CHECK(f.workers.samples()[1].end == Approx(3 + 6 - 2.0 / 3));
  CHECK(part(f.workers, 0, Part::overlap_slowdown) == Approx(2 - 2 / 1.5));
}

TEST_CASE("a kernel slows arithmetic from its arrival and streaming while its data move",
          "[workers]") {
  const Bound bound = GENERATE(Bound::arithmetic, Bound::memory);
  // A fifth of the multiprocessors, half of the memory.
  const GpuLoad waiting{.blocks = 16, .memory = {}};
  const GpuLoad moving{.blocks = 16, .memory = BytesPerSecond{400e9}};
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}}, {}, {80, BytesPerSecond{800e9}});
  f.workers.post(work(1), "w");
  f.post_all_reduce(waiting, moving);
  f.workers.post({.part = Part::backward, .seconds = 3, .bound = bound}, "w");
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());  // arrives at 1 and 2, starts at 2
  f.workers.begin_moving(0);
  f.workers.finish(0, 3.0);
  // Rank 0: 80/64 as long from 1 to 3, or twice as long from 2 to 3.
  const double slowed = bound == Bound::arithmetic ? 2 - 2 / 1.25 : 1 - 1 / 2.0;
  CHECK(f.workers.samples()[0].end == Approx(1 + 3 + slowed));
  CHECK(part(f.workers, 0, Part::overlap_slowdown) == Approx(slowed));
}

TEST_CASE("a wait is split into moving data and waiting for late ranks", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}});
  f.workers.post(work(2), "w");
  const auto position = f.post_all_reduce();
  f.workers.post_gate({position});
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());  // starts at 4
  f.workers.finish(0, 5.0);
  CHECK(part(f.workers, 0, Part::straggler_wait) == Approx(2));         // 2 to 4
  CHECK(part(f.workers, 0, Part::exposed_communication) == Approx(1));  // 4 to 5
  CHECK(part(f.workers, 1, Part::straggler_wait) == 0);
  CHECK(part(f.workers, 1, Part::exposed_communication) == Approx(1));
}

TEST_CASE("members' clocks are kept, not the curve of their maxima", "[workers]") {
  // Each rank has its own two pieces of work w0, w1 and a gate at g = max w0 between them: rank r
  // ends at g + w1(r). (The curve of maxima of w0 + w1 would say less whenever the rank that is
  // slow first is fast later.)
  ComputeProfile profile;
  profile.layers.resize(2);
  const std::vector<MemberGroup> members = {{0, 1, 1.0}, {1, 1, 1.0}, {2, 1, 1.0}};
  IterationDraws draws(JitterSpec{.rank = 0, .iteration = 0, .layer = 0.3}, profile, 7);
  draws.draw(0, members);
  OperationLog log;
  Activity activity;
  Workers workers(members, {}, log, activity);
  workers.begin_iteration(draws);
  const std::size_t position = post_around_all_reduce(workers, log);
  workers.run(0);
  REQUIRE(workers.take_ready());
  const double g = workers.collective(position).start;
  workers.finish(position, g);
  double latest = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    latest = std::max(latest, 10 * draws.layer_factor(m, 0));
    CHECK(workers.samples()[m].end == Approx(g + 10 * draws.layer_factor(m, 1)));
  }
  CHECK(g == Approx(latest));
}

TEST_CASE("many members keep their own clocks from one iteration to the next", "[workers]") {
  // As above, of more members than stand side by side, some without inputs in the second iteration,
  // each of which begins where it ended the first: rank r passes its w0 to the all-reduce, and from
  // where the last one is there, g, its w1.
  ComputeProfile profile;
  profile.layers.resize(2);
  std::vector<MemberGroup> members(300);
  for (std::size_t m = 0; m < members.size(); ++m) {
    members[m] = {.rank = static_cast<int>(m), .speed = 1 + 0.001 * static_cast<double>(m % 10)};
    if (m < 100) members[m].inputs = 1;
  }
  IterationDraws draws(JitterSpec{.rank = 0, .iteration = 0.02, .layer = 0.1}, profile, 7);
  OperationLog log;
  Activity activity;
  Workers workers(members, {}, log, activity);
  std::vector<double> clocks(members.size(), 0);
  for (int iteration = 0; iteration < 2; ++iteration) {
    draws.draw(iteration, members);
    workers.begin_iteration(draws);
    const std::size_t position = post_around_all_reduce(workers, log);
    workers.run(0);
    REQUIRE(workers.take_ready() == position);
    const double g = workers.collective(position).start;
    workers.begin_moving(position);
    workers.finish(position, g + 1);
    REQUIRE(workers.iteration_ended());
    const auto seconds = [&](std::size_t m, int layer) {
      if (iteration >= members[m].inputs) return 0.0;
      return 10 * members[m].speed * draws.iteration_factor(m) * draws.layer_factor(m, layer);
    };
    double latest = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      latest = std::max(latest, clocks[m] + seconds(m, 0));
      CHECK(workers.samples()[m].start == Approx(clocks[m]));
      clocks[m] = g + 1 + seconds(m, 1);
      CHECK(workers.samples()[m].end == Approx(clocks[m]));
      CHECK(part(workers, m, Part::backward) == Approx(seconds(m, 0) + seconds(m, 1)));
    }
    CHECK(g == Approx(latest));
  }
}

TEST_CASE("what is posted while data move changes nothing of what came before them", "[workers]") {
  // Rank 0 has arrived at 1 and does 1 s of work that is slowed by a kernel that waits, rank 1
  // arrives at 2, and the data move from 2 to 3. What is posted in between is behind that work.
  const GpuLoad waiting{.blocks = 16, .memory = {}};
  const GpuLoad moving{.blocks = 16, .memory = BytesPerSecond{400e9}};
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}}, {}, {80, BytesPerSecond{800e9}});
  f.workers.post(work(1), "w");
  f.post_all_reduce(waiting, moving);
  f.workers.post({.part = Part::backward, .seconds = 1, .bound = Bound::memory}, "w");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());
  f.workers.begin_moving(0);
  f.workers.post({.part = Part::optimizer, .seconds = 1, .bound = Bound::memory}, "late");
  f.workers.post(end_of_iteration(), "end");
  f.workers.finish(0, 3.0);
  // Streaming takes twice as long from 2 to 3 only. Rank 0 has done its work by 2 and is at half of
  // what came late at 3; rank 1 has done half a second of its 2 s by then, and has 3.5 s left.
  CHECK(f.workers.samples()[0].end == Approx(3.5));
  CHECK(f.workers.samples()[1].end == Approx(6.5));
}

TEST_CASE("the second collective waits behind the first on the stream", "[workers]") {
  WorkersFixture f({{0, 4, 1.0}});
  f.workers.post(work(1), "w");
  f.post_all_reduce();
  f.workers.post(work(1, 2.0), "w");
  f.post_all_reduce();
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready() == std::size_t{0});
  CHECK_FALSE(f.workers.take_ready().has_value());
  f.workers.finish(0, 10.0);
  // Its gradient was ready at 1 + 2 = 3 (slowed), the stream is free at 10.
  REQUIRE(f.workers.take_ready() == std::size_t{1});
  CHECK(f.workers.collective(1).start == 10);
}

TEST_CASE("a kernel never starts before the host has launched it", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}});
  auto late = work(1);
  late.launched = 5;
  f.workers.post(late, "w");
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  CHECK(f.workers.samples()[0].end == 6);
  CHECK(part(f.workers, 0, Part::host) == 5);
}

TEST_CASE("a kernel cut by the end of a collective is one bar in the trace", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}});
  f.workers.trace(0);
  f.workers.post(work(1), "w");
  f.post_all_reduce();
  auto cut = work(3, 2.0);
  f.workers.post(cut, "cut");
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());
  f.workers.finish(0, 3.0);
  // w [0,1], all-reduce [1,3], cut: slowed to 3 (1 s of it done), 2 s more.
  const auto& spans = f.workers.spans();
  REQUIRE(spans.size() == 3);
  CHECK(spans[1].resource == "communication");
  CHECK(spans[2].start == 1);
  CHECK(spans[2].duration == Approx(4));
}

namespace {

constexpr CommunicationStream two_host_threads{.on_gpu = false, .concurrent = 2};

}  // namespace

TEST_CASE("two host threads move two collectives at a time, in order, and a third waits",
          "[workers]") {
  WorkersFixture f({{0, 1, 1.0}}, two_host_threads);
  for (int i = 0; i < 3; ++i) {
    f.workers.post(work(1), "w");
    f.post_all_reduce();
  }
  f.workers.post_gate({0, 1, 2});
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  CHECK(f.workers.take_ready() == std::size_t{0});
  CHECK(f.workers.take_ready() == std::size_t{1});
  CHECK_FALSE(f.workers.take_ready().has_value());  // ready at 3, both threads are busy
  CHECK(f.workers.collective(0).start == 1);
  CHECK(f.workers.collective(1).start == 2);
  // The second ends first: from 1 to 4 something has moved.
  f.workers.finish(1, 4.0);
  CHECK(f.activity.moving.overlap(0, 4) == Approx(3));
  REQUIRE(f.workers.take_ready() == std::size_t{2});
  CHECK(f.workers.collective(2).start == 4);
  f.workers.finish(0, 6.0);
  f.workers.finish(2, 7.0);
  CHECK(f.activity.moving.until(7) == Approx(6));
  REQUIRE(f.workers.iteration_ended());
  // It waits from 3 to 7, and all the time something moves.
  CHECK(part(f.workers, 0, Part::exposed_communication) == Approx(4));
  CHECK(part(f.workers, 0, Part::straggler_wait) == Approx(0));
}

TEST_CASE("a long collective is seen behind short ones that have ended", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}}, two_host_threads);
  for (int i = 0; i < 4; ++i) {
    f.workers.post(work(1), "w");
    f.post_all_reduce();
  }
  f.workers.post_gate({0, 1, 2, 3});
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  // The first moves from 1 to 20; the others follow each other on the second thread until 4.75.
  f.workers.take_ready();
  for (std::size_t next = 1; next < 4; ++next) {
    REQUIRE(f.workers.take_ready() == next);
    f.workers.finish(next, f.workers.collective(next).start + 0.75);
  }
  f.workers.finish(0, 20);
  REQUIRE(f.workers.iteration_ended());
  // The rank waits from 4 to 20.
  CHECK(part(f.workers, 0, Part::exposed_communication) == Approx(16));
  CHECK(part(f.workers, 0, Part::straggler_wait) == Approx(0));
}

TEST_CASE("collectives of host threads leave the GPU its pace", "[workers]") {
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 2.0}}, two_host_threads);
  f.workers.post(work(1), "w");
  const auto position = f.post_all_reduce();
  f.workers.post(work(3, 1.5), "w");
  f.workers.post_gate({position});
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());
  CHECK(f.workers.collective(0).start == 2);
  f.workers.finish(0, 3.0);
  REQUIRE(f.workers.iteration_ended());
  CHECK(f.workers.samples()[0].end == Approx(4));
  CHECK(f.workers.samples()[1].end == Approx(8));
  CHECK(part(f.workers, 0, Part::overlap_slowdown) == 0);
}

TEST_CASE("a wait between two collectives in which nothing moves is not exposed", "[workers]") {
  // Rank 1 is late with the second: rank 0 waits from 2 to 8, data move in [4, 5] and [6, 8].
  WorkersFixture f({{0, 1, 1.0}, {1, 1, 4.0}}, two_host_threads);
  f.workers.post(work(1), "w");
  f.post_all_reduce();
  f.workers.post(work(0.5), "w");
  f.post_all_reduce();
  f.workers.post(work(0.5), "w");
  f.workers.post_gate({0, 1});
  f.workers.post(end_of_iteration(), "end");
  f.workers.run(0);
  REQUIRE(f.workers.take_ready());
  REQUIRE(f.workers.take_ready());
  CHECK(f.workers.collective(1).start == 6);
  f.workers.finish(0, 5.0);
  f.workers.finish(1, 8.0);
  CHECK(f.activity.moving.until(8) == Approx(3));
  CHECK(part(f.workers, 0, Part::exposed_communication) == Approx(3));
  CHECK(part(f.workers, 0, Part::straggler_wait) == Approx(3));
}
