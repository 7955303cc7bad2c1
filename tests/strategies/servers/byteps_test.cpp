#include "strategies/servers/byteps.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/strategies/servers/byteps_jobs.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("BytePS takes a partition through all its stages", "[byteps]") {
  const JobView job = two_machines({100});
  BytePs byteps(no_host_costs(), job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  CHECK(loop.tell(HookFired{.tensor = 0}) == Texts{"ready"});
  CHECK(loop.tell(BackwardDone{}) == Texts{"flag all pulled", "gate 1"});
  CHECK(loop.end_oldest() == Texts{"REDUCE 400"});
  CHECK(loop.end_oldest() == Texts{"COPYD2H t0 400 by 0"});
  const int server = server_of(0, {}, ServerLayout(job));
  CHECK(loop.end_oldest() == Texts{"PUSH t0 400" + by_push(server)});
  // Thread 0 of the server: the stages have the numbers 0 to 6, each server four threads and one.
  const std::string thread = std::to_string(7 + 5 * server);
  CHECK(loop.end_oldest() == Texts{"host " + thread + " SUM t0", "host -2 acknowledge, request"});
  CHECK(loop.end_oldest().empty());  // the pull waits for the request as well
  CHECK(loop.end_oldest() == Texts{"PULL t0 400" + by_pull(server)});
  CHECK(loop.end_oldest() == Texts{"COPYH2D t0 400 by 1"});
  CHECK(loop.end_oldest() == Texts{"BROADCAST 400"});
  CHECK(loop.end_oldest() == Texts{"raise 1"});
  CHECK(loop.quiet());
}

TEST_CASE("the server copies one push of a key and adds the others", "[byteps]") {
  BytePs byteps(no_host_costs(), two_machines({100}));
  ToyLoop loop(byteps);
  loop.iterate(two_machines({100}), 0);
  Seconds sum;
  for (const auto& operation : loop.log()) {
    const auto* host = std::get_if<HostWork>(&operation);
    if (host != nullptr && host->label == "SUM t0") sum = host->time;
  }
  // Two machines: 2 * 400 bytes at 1 GB/s.
  CHECK(sum.count() == Approx(2 * 400 / 1e9));
}

TEST_CASE("on one machine BytePS only reduces and broadcasts", "[byteps]") {
  const JobView job = toy_job({100, 200});  // four ranks on one machine
  BytePs byteps(no_host_costs(), job);
  CHECK(byteps.exchanges().empty());
  ToyLoop loop(byteps);
  CHECK(loop.iterate(job, 0) == Texts{"ready", "REDUCE 800", "BROADCAST 800", "ready", "REDUCE 400",
                                      "BROADCAST 400", "flag all pulled", "gate 6", "raise 6"});
  SECTION("unless it is told to go through servers") {
    auto options = no_host_costs();
    options.force_distributed = true;
    BytePs forced(options, job);
    CHECK(forced.exchanges().size() == 4);  // copies, and the push and pull of a colocated server
  }
}

TEST_CASE("tensors are declared by name and cut into partitions of whole pages a GPU", "[byteps]") {
  // Two GPUs a machine: 4096000 is 500 times 2 * 4096, and 10000 becomes 2 * 8192.
  CHECK(partition_bound(Bytes{4096000}, 2) == Bytes{4096000});
  CHECK(partition_bound(Bytes{10000}, 2) == Bytes{16384});
  JobView job = two_machines({10000, 10});
  job.tensors[0].name = "z";
  job.tensors[1].name = "a";
  auto options = no_host_costs();
  options.partition_bytes = Bytes{10000};
  const auto plan = BytePs(options, job).plan(0);
  // Tensor 1 is ready first. Its name makes it number 0; z is number 1, keys 65536 + part.
  REQUIRE(plan.size() == 1 + 3);  // 40000 bytes: 16384, 16384, 7232
  CHECK(plan[0].tensors == std::vector<TensorId>{1});
  CHECK(plan[0].note.starts_with("key 0, server "));
  CHECK(plan[1].size == Bytes{16384});
  CHECK(plan[3].size == Bytes{7232});
  CHECK(plan[3].note.starts_with("key 65538, part 3 of 3, server "));
}

TEST_CASE("partitions of one tensor are reduced in NCCL groups of four", "[byteps]") {
  auto options = no_host_costs();
  options.partition_bytes = Bytes{8192};
  const JobView job = two_machines({6 * 8192 / 4});
  BytePs byteps(options, job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 0});
  CHECK(loop.end_oldest() == Texts{"REDUCE 32768", "REDUCE 16384"});
}

TEST_CASE("with credits BytePS takes what fits by key, and without what came first", "[byteps]") {
  auto options = no_host_costs();
  options.nccl_group_size = 1;
  options.partition_bytes = Bytes{8192};
  const JobView job = two_machines({2048, 2048, 2048});
  const auto reduced = [&job](const BytePsOptions& with) {
    BytePs byteps(with, job);
    ToyLoop loop(byteps);
    loop.tell(IterationStart{});
    for (const TensorId id : {2, 1, 0}) loop.tell(HookFired{.tensor = id});
    for (int marker = 0; marker < 3; ++marker) loop.end_oldest();
    loop.end_all();
    std::vector<TensorId> order;
    for (const auto& operation : loop.log()) {
      const auto* call = std::get_if<Collective>(&operation);
      if (call != nullptr && call->label == "REDUCE") order.push_back(call->tensors.front());
    }
    return order;
  };
  CHECK(reduced(options) == std::vector<TensorId>{2, 1, 0});
  // One partition at a time: when the first has been reduced, both others wait; t0 has the lower
  // key.
  options.scheduling_credit = 1;
  CHECK(reduced(options) == std::vector<TensorId>{2, 0, 1});
}

TEST_CASE("a connection carries a server's pushes in order, small ones together", "[byteps]") {
  JobView job = two_machines({10, 20, 30});
  job.server_machine = {2};
  BytePs byteps(no_host_costs(), job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  for (const TensorId id : {2, 1, 0}) loop.tell(HookFired{.tensor = id});
  for (int marker = 0; marker < 3; ++marker) loop.end_oldest("ready");
  for (int group = 0; group < 3; ++group) loop.end_oldest("REDUCE");
  CHECK(loop.end_oldest("COPYD2H") == Texts{"PUSH t2 120 by 2", "COPYD2H t1 80 by 0"});
  // The connection is busy while the others are copied, one after the other.
  CHECK(loop.end_oldest("COPYD2H") == Texts{"COPYD2H t0 40 by 0"});
  CHECK(loop.end_oldest("COPYD2H").empty());
  CHECK(loop.end_oldest("PUSH").back() == "PUSH t1 and 1 more 120 by 2");
  loop.end_all();
  CHECK(loop.quiet());
}

TEST_CASE("a colocated pair goes over the loopback unless it shares memory", "[byteps]") {
  JobView job = two_machines({100});
  job.server_machine = {0, 1};
  const auto loopbacks = [&job](bool ipc) {
    auto options = no_host_costs();
    options.enable_ipc = ipc;
    BytePs byteps(options, job);
    ToyLoop loop(byteps);
    int count = 0;
    for (const auto& text : loop.iterate(job, 0)) count += text.ends_with("loopback") ? 1 : 0;
    return count;
  };
  CHECK(loopbacks(false) == 2);  // push and pull
  CHECK(loopbacks(true) == 0);
}

TEST_CASE("PyTorch's thread waits in step() for BytePS, half a sleep of 1 ms too long",
          "[byteps]") {
  const JobView job = two_machines({100, 300});
  auto options = no_host_costs();
  CHECK(BytePs(options, job).traits().late_step.value().count() == Approx(0.5e-3));
  options.framework = "mxnet";  // its engine waits
  CHECK_FALSE(BytePs(options, job).traits().late_step);
}

TEST_CASE("across the barrier a layer waits for its own tensors and updates them", "[byteps]") {
  auto options = no_host_costs();
  options.cross_barrier = true;
  JobView job = two_machines({100, 300});
  job.layers.resize(2);
  BytePs byteps(options, job);
  CHECK(byteps.traits().forward_hooks);
  CHECK(byteps.traits().own_optimizer);
  ToyLoop loop(byteps);
  const Texts first = loop.iterate(job, 0);
  CHECK(first.front() == "flag t1");
  CHECK(std::ranges::count(first, "update") == 0);
  CHECK(std::ranges::none_of(first, [](const auto& text) { return text.starts_with("gate"); }));
  const auto flag_of_t1 = OperationId{0};
  OperationId flag_of_t0 = 1;
  while (!std::holds_alternative<Flag>(loop.log()[static_cast<std::size_t>(flag_of_t0)])) {
    ++flag_of_t0;
  }
  loop.tell(IterationStart{.iteration = 1});
  CHECK(loop.tell(ForwardStart{.layer = 0}) ==
        Texts{"gate " + std::to_string(flag_of_t0), "update"});
  CHECK(std::get<OptimizerStep>(loop.log().back()).share == Approx(0.25));  // 100 of 400
  CHECK(loop.tell(ForwardStart{.layer = 1}) ==
        Texts{"gate " + std::to_string(flag_of_t1), "update"});
}

TEST_CASE("merged tensors are handed over once, copied by their hooks", "[byteps]") {
  auto options = no_host_costs();
  options.threshold = 1000;  // elements: more than all
  const JobView job = two_machines({100, 200});
  BytePs byteps(options, job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  CHECK(loop.tell(HookFired{.tensor = 1}) == Texts{"copy into merged buffer"});
  CHECK(loop.tell(HookFired{.tensor = 0}) == Texts{"copy into merged buffer", "ready"});
  CHECK(loop.end_oldest() == Texts{"REDUCE 1200"});
}

TEST_CASE("each worker machine pushes a key once, whatever its GPUs", "[byteps]") {
  const auto exchanges = BytePs(no_host_costs(), two_machines({100})).exchanges();
  REQUIRE(exchanges.size() == 2 + 2 * 2);
  // Each GPU copies half of what its machine reduced.
  REQUIRE(exchanges[0].phases.front().size() == 4);
  CHECK(exchanges[0].phases.front()[1].share == Approx(0.5));
  const auto& push = exchanges[2].phases.front();
  REQUIRE(push.size() == 2);
  CHECK(push[1].from == Endpoint{Endpoint::Place::host, 2});
  CHECK(push[1].to == Endpoint{Endpoint::Place::server, 0});
  CHECK(push[1].share == Approx(1.0));
}

TEST_CASE("NCCL's rings take partitions by key, each on its stream", "[byteps]") {
  auto options = no_host_costs();
  options.partition_bytes = Bytes{8192};
  options.nccl_num_rings = 2;
  const JobView job = two_machines({3 * 8192 / 4});
  BytePs byteps(options, job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 0});
  CHECK(loop.end_oldest() == Texts{"REDUCE 16384", "REDUCE 8192"});  // keys 0 and 2, and 1
  CHECK(std::get<Collective>(loop.log()[1]).stream == 1);
  CHECK(std::get<Collective>(loop.log()[2]).stream == 2);
}

TEST_CASE("a blocking server acknowledges a push when it has added it", "[byteps]") {
  auto options = no_host_costs();
  options.server_engine_blocking = true;
  JobView job = two_machines({100});
  job.server_machine = {2};
  BytePs byteps(options, job);
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 0});
  for (int stage = 0; stage < 3; ++stage) loop.end_oldest();
  CHECK(loop.end_oldest("PUSH") == Texts{"host 7 SUM t0"});
  CHECK(loop.end_oldest() == Texts{"host -2 acknowledge, request"});
  CHECK(loop.end_oldest() == Texts{"PULL t0 400 by 3"});
}

TEST_CASE("BytePS on one rank does nothing", "[byteps]") {
  JobView job = toy_job({100});
  job.world_size = 1;
  BytePs byteps(no_host_costs(), job);
  ToyLoop loop(byteps);
  CHECK(loop.iterate(job, 0).empty());
}

TEST_CASE("iterations of BytePS leave nothing behind", "[byteps]") {
  const JobView job = two_machines({5000000, 10, 300, 2000000});
  BytePs byteps(no_host_costs(), job);
  ToyLoop loop(byteps);
  const std::size_t once = loop.iterate(job, 0).size();
  CHECK(loop.iterate(job, 1).size() == once);
  CHECK(loop.quiet());
}
