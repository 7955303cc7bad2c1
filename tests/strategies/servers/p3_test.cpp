#include "strategies/servers/p3.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Texts = std::vector<std::string>;

/// Two machines of one GPU, a server on each of machines 2 and 3.
JobView two_machines(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 1}, elements, {2, 3});
}

/// A connection takes one slice at a time.
P3::Options one_by_one(std::int64_t slice) {
  P3::Options options;
  options.slice_size = slice;
  options.store.socket_buffer = Bytes{1};
  options.store.sum_rate = core_sum_rate;
  return options;
}

}  // namespace

TEST_CASE("P3 cuts tensors into slices, round robin over servers", "[p3]") {
  const auto plan = P3(one_by_one(50), two_machines({120, 30})).plan(0);
  // In gradient order: t1 first. Servers are dealt in order of registration: t0 has 0, 1, 0.
  REQUIRE(plan.size() == 4);
  CHECK(plan[0].note == "slice 1 of 1, server 1");
  CHECK(plan[1].note == "slice 1 of 3, server 0");
  CHECK(plan[2].note == "slice 2 of 3, server 1");
  CHECK(plan[3].elements == 20);
}

TEST_CASE("slices of front layers overtake those that wait for the server", "[p3]") {
  JobView job = two_machines({50, 150});
  job.server_machine = {2};
  P3 p3(one_by_one(50), job);
  ToyLoop loop(p3);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 1});
  loop.tell(HookFired{.tensor = 0});
  loop.end_oldest("ready");
  for (int slice = 0; slice < 3; ++slice) loop.end_oldest("COPYD2H t1");
  loop.end_oldest("ready");
  loop.end_oldest("COPYD2H t0");
  Texts order;
  for (int push = 0; push < 4; ++push) {
    for (const auto& text : loop.end_oldest("PUSH")) {
      if (text.starts_with("PUSH")) order.push_back(text);
    }
  }
  // Slice 0 of t1 was under way; t0 then goes before the rest of t1.
  CHECK(order ==
        Texts{"PUSH t0 slice 0 200 by 2", "PUSH t1 slice 1 200 by 2", "PUSH t1 slice 2 200 by 2"});
}

TEST_CASE("slices of front layers overtake those that wait for a colocated server", "[p3]") {
  // P3 sends by one queue of priorities a process, whoever receives: PULL and PUSH of a colocated
  // pair wait for the loopback as others do for the network.
  JobView job = two_machines({50, 150});
  job.server_machine = {0};
  P3 p3(one_by_one(50), job);
  ToyLoop loop(p3);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 1});
  loop.tell(HookFired{.tensor = 0});
  for (const int slices : {3, 1}) {  // of t1, then of t0
    loop.end_oldest("ready");
    for (int slice = 0; slice < slices; ++slice) loop.end_oldest("COPYD2H");
    for (int slice = 0; slice < slices; ++slice) loop.end_oldest("PUSH");
  }
  Texts order;
  for (int slice = 0; slice < 4; ++slice) {
    for (const auto& text : loop.end_oldest("host 2 loopback")) {
      if (text.starts_with("host 1 SUM")) order.push_back(text);
    }
    loop.end_oldest("host 1 SUM");
  }
  CHECK(order == Texts{"host 1 SUM t1 slice 0", "host 1 SUM t0 slice 0", "host 1 SUM t1 slice 1",
                       "host 1 SUM t1 slice 2"});
}

TEST_CASE("P3's servers send a value as soon as it is there", "[p3]") {
  P3 p3(one_by_one(50), two_machines({50}));
  ToyLoop loop(p3);
  loop.tell(IterationStart{});
  CHECK(loop.tell(HookFired{.tensor = 0}) == Texts{"flag t0", "ready"});
  CHECK(loop.end_oldest() == Texts{"COPYD2H t0 slice 0 200 by 0"});
  CHECK(loop.end_oldest() == Texts{"PUSH t0 slice 0 200 by 2"});
  CHECK(loop.end_oldest().front() == "host 1 SUM t0 slice 0");
  // Two pushes, and SGD with momentum as two more sums, at 14.2 GB/s.
  for (const auto& operation : loop.log()) {
    const auto* host = std::get_if<HostWork>(&operation);
    if (host == nullptr) continue;
    const double expected = host->thread == HostWork::no_thread ? 0 : 4 * 200 / 14.2e9;
    CHECK(host->time.count() == Approx(expected));
  }
  CHECK(loop.end_all() ==
        Texts{"PULL t0 slice 0 200 by 3", "COPYH2D t0 slice 0 200 by 1", "raise 0"});
}

TEST_CASE("a layer waits for its own parameters and the worker's step, whoever updates", "[p3]") {
  const JobView job = two_machines({50, 60});
  for (const bool on_servers : {true, false}) {
    auto options = one_by_one(50);
    options.store.update_on_kvstore = on_servers;
    P3 p3(options, job);
    ToyLoop loop(p3);
    const Texts first = loop.iterate(job, 0);
    CHECK(std::ranges::none_of(first, [](const auto& text) { return text.starts_with("gate"); }));
    loop.tell(IterationStart{.iteration = 1});
    const Texts layer_1 = loop.tell(ForwardStart{.layer = 1});
    CHECK(layer_1 == Texts{"gate 0", "update"});  // t1's flag was the first operation
    CHECK(loop.tell(ForwardStart{.layer = 1}).empty());
  }
}

TEST_CASE("a machine's GPUs are summed on its CPU, or by NCCL on the first", "[p3]") {
  JobView job = two_machines({50});
  job.world_size = 4;
  job.machine_of = {0, 0, 1, 1};
  const auto stages = [&job](const std::string& kind) {
    auto options = one_by_one(50);
    options.store.kv_store = kind;
    P3 p3(options, job);
    ToyLoop loop(p3);
    Texts words;
    for (const auto& text : loop.iterate(job, 0)) words.push_back(text.substr(0, text.find(" t0")));
    return words;
  };
  CHECK(stages("dist_sync") == Texts{"flag", "ready", "COPYD2H", "host 0 LOCAL SUM", "PUSH",
                                     "host 1 SUM", "host -2 acknowledge, request", "PULL",
                                     "COPYH2D", "raise 0"});
  CHECK(stages("dist_device_sync") == Texts{"flag", "ready", "REDUCE", "COPYD2H", "PUSH",
                                            "host 1 SUM", "host -2 acknowledge, request", "PULL",
                                            "COPYH2D", "BROADCAST", "raise 0"});
}
