#include "strategies/servers/bytescheduler.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Texts = std::vector<std::string>;

JobView layered_job(const std::vector<std::int64_t>& elements) {
  JobView job = toy_job(elements);
  job.layers.resize(elements.size());
  return job;
}

/// No times of Python, but one for the update.
ByteSchedulerOptions free_python() {
  ByteSchedulerOptions options;
  options.horovod.version = {0, 19};
  options.horovod.fusion_threshold = Bytes{0};
  options.horovod.cycle_time = Seconds{};
  options.horovod.cache_capacity = 0;
  options.horovod.hook_time = Seconds{};
  return options;
}

/// The sizes of the all-reduces in the order in which they start.
std::vector<std::int64_t> all_reduces(const Operations& log) {
  return collective_sizes(log);
}

}  // namespace

TEST_CASE("a tensor is cut along its rows, evenly, the last parts one row longer",
          "[bytescheduler]") {
  // 7 rows of 10 in parts of at most 25: ceil(70 / 25) = 3 parts of 2, 2 and 3 rows.
  CHECK(parts_of_rows({"w", 70, 0, {7, 10}}, 25) == std::vector<std::int64_t>{20, 20, 30});
  CHECK(parts_of_rows({"w", 70, 0, {7, 10}}, 70) == std::vector<std::int64_t>{70});
  // Never more parts than rows.
  CHECK(parts_of_rows({"w", 2000, 0, {2, 1000}}, 10) == std::vector<std::int64_t>{1000, 1000});
  CHECK(parts_of_rows({"b", 10, 0}, 5) == std::vector<std::int64_t>{5, 5});
}

TEST_CASE("the most urgent ready part goes first while there is credit", "[bytescheduler]") {
  auto options = free_python();
  options.credit = 1;  // one part at a time: any may start while credit is left
  const JobView job = layered_job({10, 20, 30});
  ByteScheduler scheduler(options, job);
  ToyLoop loop(scheduler);
  loop.tell(IterationStart{});
  for (const TensorId id : {2, 1, 0}) loop.tell(HookFired{.tensor = id});
  loop.end_all();
  // t2 was first and overdrew the credit; when it ends t0 is more urgent than t1.
  CHECK(all_reduces(loop.log()) == std::vector<std::int64_t>{120, 40, 80});
  CHECK(loop.quiet());
}

TEST_CASE("credit may go below zero, and never above its limit", "[bytescheduler]") {
  auto options = free_python();
  options.credit = 25;
  const JobView job = layered_job({10, 20, 30});
  ByteScheduler scheduler(options, job);
  ToyLoop loop(scheduler);
  for (int iteration = 0; iteration < 2; ++iteration) {
    loop.tell(IterationStart{.iteration = iteration});
    for (const TensorId id : {2, 1, 0}) loop.tell(HookFired{.tensor = id});
    for (int marker = 0; marker < 3; ++marker) loop.end_oldest("ready");
    const std::size_t before = loop.log().size();
    // 25 - 30 < 0: t2 alone, though 10 and 20 would have fitted beside the other.
    loop.end_oldest("host 1048576 start part");
    CHECK_THROWS(loop.end_oldest("host 1048576 start part"));
    CHECK(loop.log().size() > before);
    loop.end_all();
  }
}

TEST_CASE("the poller updates a parameter, and its search is longer for later ones",
          "[bytescheduler]") {
  auto options = free_python();
  options.update_time = Seconds{100e-6};
  options.compare_time = Seconds{1e-6};
  const JobView job = layered_job({10, 20, 30});
  ByteScheduler scheduler(options, job);
  ToyLoop loop(scheduler);
  loop.iterate(job, 0);
  std::vector<double> updates;
  for (const auto& operation : loop.log()) {
    const auto* host = std::get_if<HostWork>(&operation);
    if (host != nullptr && host->label == "update") updates.push_back(host->time.count());
  }
  // t2, t1, t0: found after three, two and one comparison.
  REQUIRE(updates.size() == 3);
  CHECK(updates[0] == Approx(103e-6));
  CHECK(updates[2] == Approx(101e-6));
}

TEST_CASE("a layer waits for the flag of its own parameters and updates them", "[bytescheduler]") {
  const JobView job = layered_job({10, 30});
  ByteScheduler scheduler(free_python(), job);
  CHECK(scheduler.traits().own_optimizer);
  ToyLoop loop(scheduler);
  const Texts first = loop.iterate(job, 0);
  CHECK(first.front() == "flag t1");
  CHECK(std::ranges::count(first, "raise 0") == 1);
  loop.tell(IterationStart{.iteration = 1});
  CHECK(loop.tell(ForwardStart{.layer = 1}) == Texts{"gate 0", "update"});
  CHECK(std::get<OptimizerStep>(loop.log().back()).share == Approx(0.75));
}

TEST_CASE("the poller notices an event after half a round of its queue", "[bytescheduler]") {
  auto options = free_python();
  options.poll_time = Seconds{10e-6};
  ByteScheduler scheduler(options, layered_job({10, 20, 30}));
  ToyLoop loop(scheduler);
  loop.tell(IterationStart{});
  for (const TensorId id : {2, 1, 0}) loop.tell(HookFired{.tensor = id});
  REQUIRE(loop.end_oldest("ready") == Texts{"host -2 poll"});
  CHECK(std::get<HostWork>(loop.log().back()).time.count() == Approx(3 * 10e-6 / 2));
}

TEST_CASE("with parameter servers the credit comes back with the push", "[bytescheduler]") {
  auto options = free_python();
  options.mode = "ps";
  options.credit = 1;
  JobView job = layered_job({10, 20});
  job.machine_of = {0, 0, 1, 1};
  job.machines = 2;
  job.server_machine = {2};
  ByteScheduler scheduler(options, job);
  ToyLoop loop(scheduler);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 1});
  loop.tell(HookFired{.tensor = 0});
  loop.end_oldest("ready");
  loop.end_oldest("ready");
  loop.end_oldest("host 1048576 start part");
  loop.end_oldest("host -2 barrier key");
  loop.end_oldest("COPYD2H");
  loop.end_oldest("host 0 LOCAL SUM");
  const Texts after = loop.end_oldest("PUSH");
  // t0 starts while t1 is still summed by the server.
  CHECK(after ==
        Texts{"host 1048576 start part", "host 1 SUM t1 part 0", "host -2 acknowledge, request"});
  loop.end_all();
  CHECK(loop.quiet());
}

TEST_CASE("a part as large as a big array lies on all servers", "[bytescheduler]") {
  auto options = free_python();
  options.mode = "ps";
  options.store.bigarray_bound = 21;
  JobView job = layered_job({20, 21});
  job.machine_of = {0, 0, 1, 1};
  job.machines = 2;
  job.server_machine = {2, 3};
  ByteScheduler scheduler(options, job);
  ToyLoop loop(scheduler);
  Texts pushes;
  for (const auto& text : loop.iterate(job, 0)) {
    if (text.starts_with("PUSH")) pushes.push_back(text);
  }
  // 21 = 11 + 10 over two; t0 is part number 0: server 0 * 9973 % 2.
  CHECK(pushes ==
        Texts{"PUSH t1 part 0 44 by 2", "PUSH t1 part 0 40 by 4", "PUSH t0 part 0 80 by 2"});
}

TEST_CASE("ByteScheduler on one rank leaves the optimizer alone", "[bytescheduler]") {
  JobView job = layered_job({10});
  job.world_size = 1;
  ByteScheduler scheduler(free_python(), job);
  CHECK_FALSE(scheduler.traits().own_optimizer);
  CHECK(scheduler.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
}
