#include "strategies/servers/ps_sync.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "strategies/parts/job_places.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Three tensors of 40, 80 and 120 bytes, four ranks on two machines, two servers.
JobView served_job() {
  return toy_job_on({0, 0, 1, 1}, {10, 20, 30}, {0, 1});
}

/// Ends `operation` and returns what follows.
Operations end(Strategy& strategy, OperationId operation) {
  return strategy.on_event(Seconds{}, OperationDone{operation});
}

ParameterServerOptions on_a_core() {
  ParameterServerOptions options;
  options.server_cpu = toy_cpu(core_sum_rate);
  return options;
}

}  // namespace

TEST_CASE("round robin places variables in registration order, by load on the emptiest server",
          "[ps]") {
  auto job = toy_job({100, 10, 10, 10});
  ParameterServerOptions options;
  // Gradient order 3, 2, 1, 0; round robin over two servers: 0 and 2 on server 0, 1 and 3 on 1.
  auto groups = variable_groups(job, 2, options);
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].server == 1);
  CHECK(groups[0].tensors == std::vector<TensorId>{3});
  CHECK(groups[1].server == 0);
  CHECK(groups[3].server == 0);
  // By load: 400 bytes on server 0, all others on 1.
  options.placement = VariablePlacement::by_load;
  options.message = Bytes{1000};
  groups = variable_groups(job, 2, options);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].tensors == std::vector<TensorId>{0});
  CHECK(groups[1].tensors == std::vector<TensorId>{3, 2, 1});
  CHECK(groups[1].size == Bytes{120});
}

TEST_CASE("partitioned variables lie on all servers in whole elements, nothing lost", "[ps]") {
  ParameterServerOptions options;
  options.placement = VariablePlacement::partitioned;
  // 10 elements over 3 servers: 4, 3, 3; 2 elements: 1, 1 and nothing.
  const auto groups = variable_groups(toy_job({10, 2}), 3, options);
  std::vector<std::int64_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.size.count());
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 16, 12, 12});
}

TEST_CASE("by divisor, a variable has as many parts as the least divisor of its first dimension",
          "[ps]") {
  // TensorFlow's first dimensions: 3 (a kernel's height), 4 (a matrix's inputs), 6, 5 (a vector
  // without a shape), 1.
  auto job = toy_job({18, 28, 6, 5, 8});
  job.tensors[0].shape = {2, 1, 3, 3};
  job.tensors[1].shape = {7, 4};
  job.tensors[2].shape = {6};
  job.tensors[4].shape = {8, 1, 1, 1};
  ParameterServerOptions options;
  options.placement = VariablePlacement::by_divisor;
  const auto groups = variable_groups(job, 4, options);
  // Elements of the parts, by gradient order: 8 whole; 5 as 5 times 1; 6 as 2 of 3; 28 as 2 of 14;
  // 18 as 3 of 6.
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> load(4);
  for (const auto& group : groups) {
    elements.push_back(group.size.count() / 4);
    load[static_cast<std::size_t>(group.server)] += elements.back();
  }
  CHECK(elements == std::vector<std::int64_t>{8, 1, 1, 1, 1, 1, 3, 3, 14, 14, 6, 6, 6});
  // In registration order, to the emptiest: 6, 6, 6, 0; the 14s to server 3, then 0; the 3s to 1
  // and 2; the 1s to 1, 2, 3 (14), 0 (20) in turn and 1 again; the 8 to server 2, which has 10.
  CHECK(load == std::vector<std::int64_t>{21, 11, 18, 15});
}

TEST_CASE("a gradient is copied, pushed, summed, and pulled when all variables are updated",
          "[ps_sync]") {
  PsSync strategy({.servers = on_a_core()}, served_job());
  // Operations 0 to 2: the flags of the pulls of groups 0 = {t2}, 1 = {t1}, 2 = {t0}.
  CHECK(strategy.on_event(Seconds{}, IterationStart{0}).size() == 3);
  const auto ready = strategy.on_event(Seconds{}, HookFired{.tensor = 2});  // 3
  REQUIRE(ready.size() == 1);
  CHECK(std::get<DeviceWork>(ready[0]).notify);
  CHECK(std::get<DeviceWork>(ready[0]).kernels == 0);
  const auto copy = end(strategy, 3);  // 4
  REQUIRE(copy.size() == 1);
  CHECK(std::get<Messages>(copy[0]).size == Bytes{120});
  const auto push = end(strategy, 4);  // 5: t2 is on server 0
  CHECK(std::get<Messages>(push[0]).exchange == 1);
  // Four workers: three sums and the update, 4 * 120 bytes at 14.2 GB/s.
  const auto sum = end(strategy, 5);  // 6
  CHECK(std::get<HostWork>(sum[0]).time.count() == Approx(4 * 120 / 14.2e9));
  CHECK(end(strategy, 6).empty());  // the barrier
  OperationId next = 7;
  Operations pulls;
  for (const TensorId tensor : {1, 0}) {
    strategy.on_event(Seconds{}, HookFired{.tensor = tensor});
    for (int stage = 0; stage < 4; ++stage) pulls = end(strategy, next++);
  }
  REQUIRE(pulls.size() == 3);
  for (const auto& pull : pulls) CHECK(std::get<Messages>(pull).exchange % 2 == 0);
  const auto raise = end(strategy, next);
  REQUIRE(raise.size() == 1);
  CHECK(std::get<Raise>(raise[0]).flag <= 2);
}

TEST_CASE("without a barrier a variable is pulled as soon as it is updated", "[ps_sync]") {
  PsSync strategy({.servers = {}, .barrier = false}, served_job());
  strategy.on_event(Seconds{}, IterationStart{0});
  strategy.on_event(Seconds{}, HookFired{.tensor = 2});
  for (const OperationId operation : {3, 4, 5}) end(strategy, operation);
  const auto pull = end(strategy, 6);
  REQUIRE(pull.size() == 1);
  CHECK(std::get<Messages>(pull[0]).exchange == 2);
}

TEST_CASE("a layer's forward waits for the pulls of its own variables, from the second iteration",
          "[ps_sync]") {
  PsSync strategy({}, served_job());
  strategy.on_event(Seconds{}, IterationStart{0});
  CHECK(strategy.on_event(Seconds{}, ForwardStart{.layer = 1}).empty());
  strategy.on_event(Seconds{}, IterationStart{1});
  const auto gate = strategy.on_event(Seconds{}, ForwardStart{.layer = 1});
  REQUIRE(gate.size() == 1);
  CHECK(std::get<Gate>(gate[0]).until == std::vector<OperationId>{1});  // iteration 0's flag of t1
  CHECK(strategy.on_event(Seconds{}, ForwardStart{.layer = 1}).empty());
}

TEST_CASE("a machine's GPUs push once: the servers sum machines", "[ps_sync]") {
  PsSync strategy({.servers = on_a_core(), .worker = ServedWorker::machine}, served_job());
  const auto exchanges = strategy.exchanges();
  CHECK(exchanges[0].phases[0].size() == 4);  // all GPUs to their hosts
  CHECK(exchanges[1].phases[0].size() == 2);  // ranks 0 and 2 push
  CHECK(exchanges[2].phases[0].size() == 2);
  CHECK(exchanges[2].phases[1].size() == 4);
  strategy.on_event(Seconds{}, IterationStart{0});
  strategy.on_event(Seconds{}, HookFired{.tensor = 2});
  end(strategy, 3);
  const auto local = end(strategy, 4);  // one more gradient is added in each machine
  CHECK(std::get<HostWork>(local[0]).time.count() == Approx(120 / 14.2e9));
  end(strategy, 5);
  const auto sum = end(strategy, 6);
  CHECK(std::get<HostWork>(sum[0]).time.count() == Approx(2 * 120 / 14.2e9));
}

TEST_CASE("variables on GPUs go between them, and from no GPU to itself", "[ps_sync]") {
  auto job = toy_job({10, 20, 30});
  job.world_size = 2;
  PsSync strategy({.servers = {}, .on_gpus = true}, job);
  // Two GPUs of one machine: a variable's owner gets one gradient and gives one copy.
  const auto exchanges = strategy.exchanges();
  REQUIRE(exchanges.size() == 1 + 2 * 2);
  for (const int owner : {0, 1}) {
    const auto& push = exchanges[static_cast<std::size_t>(1 + 2 * owner)].phases;
    const auto& pull = exchanges[static_cast<std::size_t>(2 + 2 * owner)].phases;
    REQUIRE(push.size() == 1);
    REQUIRE(push[0].size() == 1);
    CHECK(push[0][0].from == gpu_of(1 - owner));
    CHECK(push[0][0].to == gpu_of(owner));
    REQUIRE(pull.size() == 1);
    CHECK(pull[0][0].from == gpu_of(owner));
    CHECK(pull[0][0].to == gpu_of(1 - owner));
  }
  // Round robin: t2 and t0 on GPU 0. No copy to the host and no sum there.
  strategy.on_event(Seconds{}, IterationStart{0});  // 0 to 2: flags
  OperationId next = 3;
  Operations pulls;
  for (const TensorId tensor : {2, 1, 0}) {
    strategy.on_event(Seconds{}, HookFired{.tensor = tensor});
    const auto push = end(strategy, next++);
    REQUIRE(push.size() == 1);
    CHECK(std::get<Messages>(push[0]).exchange == (tensor == 1 ? 3 : 1));
    pulls = end(strategy, next++);
  }
  CHECK(pulls.size() == 2);  // GPU 0 sends one of its two after the other
}

TEST_CASE("copies between GPUs without peer access take turns, and nothing computes meanwhile",
          "[ps_sync]") {
  auto job = toy_job({10, 20, 30});
  job.world_size = 2;
  job.peer_access = false;
  PsSync strategy({.servers = {}, .on_gpus = true}, job);
  strategy.on_event(Seconds{}, IterationStart{0});  // 0 to 2: flags
  for (const TensorId tensor : {2, 1, 0}) {
    CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = tensor}).empty());
  }
  const auto done = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(done.size() == 2);  // a marker behind all of backward, and the update
  // Round robin: t2 and t0 on GPU 0, to which exchange 1 pushes and from which 2 pulls.
  std::vector<int> exchanges;
  OperationId posted = 5;
  Operations now = end(strategy, 3);
  for (std::optional<OperationId> copy = posted; copy;) {
    copy.reset();
    for (const Operation& operation : now) {
      if (const auto* moved = std::get_if<Messages>(&operation)) {
        CHECK_FALSE(copy);  // one at a time
        copy = posted;
        exchanges.push_back(moved->exchange);
      }
      ++posted;
    }
    if (copy) now = end(strategy, *copy);
  }
  CHECK(exchanges.size() == 6);
  CHECK(std::vector(exchanges.begin(), exchanges.begin() + 3) == std::vector{1, 3, 1});
  strategy.on_event(Seconds{}, IterationStart{1});
  const auto gate = strategy.on_event(Seconds{}, ForwardStart{.layer = 0});
  REQUIRE(gate.size() == 1);
  CHECK(std::get<Gate>(gate[0]).until.size() == 3);
}

TEST_CASE("variables on GPUs are refused on several machines", "[ps_sync]") {
  CHECK_THROWS_WITH(PsSync({.servers = {}, .on_gpus = true}, served_job()),
                    Catch::Contains("within one machine"));
}

TEST_CASE("an arbitrary order of pulls holds every group once and changes with the iteration",
          "[ps]") {
  const std::vector<int> forward = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto first = pull_order({}, forward, 0, 0);
  CHECK(first == pull_order({}, forward, 0, 0));
  CHECK(first != pull_order({}, forward, 1, 0));
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == forward);
}
