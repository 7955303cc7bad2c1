
#include <deque>

#include "strategies/peers/kungfu_cpu.hpp"
#include "strategies/peers/kungfu_nccl.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

JobView two_by_two(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 1, 1}, elements);
}

/// What moved when everything that is posted ends in the order posted.
struct Moved {
  std::vector<std::int64_t> sizes_by_exchange;
  int messages = 0;
  double host_time = 0;
  int raised = 0;
};

Moved play(Strategy& strategy, const std::vector<Event>& events) {
  Moved moved;
  moved.sizes_by_exchange.resize(strategy.exchanges().size());
  OperationId posted = 0;
  std::deque<OperationId> under_way;
  const auto take = [&](const Operations& operations) {
    for (const auto& operation : operations) {
      const OperationId id = posted++;
      if (const auto* messages = std::get_if<Messages>(&operation)) {
        moved.sizes_by_exchange[static_cast<std::size_t>(messages->exchange)] +=
            messages->size.count();
        ++moved.messages;
        under_way.push_back(id);
      } else if (const auto* work = std::get_if<HostWork>(&operation)) {
        moved.host_time += work->time.count();
        if (work->beside) moved.host_time += work->beside->time.count();
        under_way.push_back(id);
      } else if (const auto* device = std::get_if<DeviceWork>(&operation)) {
        if (device->notify) under_way.push_back(id);
      } else if (std::holds_alternative<Collective>(operation)) {
        under_way.push_back(id);
      } else if (std::holds_alternative<Raise>(operation)) {
        ++moved.raised;
      }
    }
  };
  for (const auto& event : events) take(strategy.on_event(Seconds{}, event));
  while (!under_way.empty()) {
    const OperationId id = under_way.front();
    under_way.pop_front();
    take(strategy.on_event(Seconds{}, OperationDone{id}));
  }
  return moved;
}

std::vector<Event> iteration(int tensors) {
  std::vector<Event> events = {IterationStart{0}};
  for (int id = tensors - 1; id >= 0; --id) events.emplace_back(HookFired{.tensor = id});
  events.emplace_back(BackwardDone{});
  return events;
}

constexpr std::int64_t mib = 1024 * 1024;

}  // namespace

TEST_CASE("every gradient goes to the host, up the tree, down the tree and back", "[kungfu_sync]") {
  KungfuCpu strategy(
      {.host = {.sum_rate = BytesPerSecond{1e9}, .socket_rate = BytesPerSecond{1e9}}},
      two_by_two({10, 20}), 0);
  const auto moved = play(strategy, iteration(2));
  // Exchanges: to the host, to the GPU, 0 to 2 (broadcast), 2 to 0 (reduce); 120 bytes each.
  CHECK(moved.sizes_by_exchange == std::vector<std::int64_t>{120, 120, 120, 120});
  // For each byte: a socket and a sum within the machines, a sum between them; then a socket in the
  // first machine and, once it has come there, one in the second. Each takes a 20th of its time of
  // the process's half of 40 cores as well.
  CHECK(moved.host_time == Approx(120 * (2 + 1 + 1 + 1) * (1 + 1.0 / 20) * 1e-9));
  CHECK(moved.raised == 1);
}

TEST_CASE("parts are of 1 MiB at most; few operations carry the same bytes", "[kungfu_sync]") {
  const auto job = two_by_two({5 * mib});  // 20 MiB: 20 parts
  KungfuCpu exact({.operations = 1000}, job, 0);
  KungfuCpu merged({.operations = 4}, job, 0);
  const auto all = play(exact, iteration(1));
  const auto few = play(merged, iteration(1));
  CHECK(all.messages == 2 + 2 * 20);
  CHECK(few.messages == 2 + 2 * 4);
  CHECK(all.sizes_by_exchange == few.sizes_by_exchange);
  CHECK(all.host_time == Approx(few.host_time));
}

TEST_CASE("the parts of a tensor near the limits carry its bytes", "[kungfu_sync]") {
  // 4e15 bytes in 3.7e6 parts: their product is beyond 64 bits.
  const auto job = two_by_two({1'000'000'000'000'000});
  KungfuCpu strategy({.part = Bytes{1024 * mib}, .operations = 4}, job, 0);
  CHECK(play(strategy, iteration(1)).sizes_by_exchange ==
        std::vector<std::int64_t>(4, 4'000'000'000'000'000));
}

TEST_CASE(
    "parts of a tensor go to the graphs in turn by index; the name's hash sends one part "
    "to one graph",
    "[kungfu_sync]") {
  // CLIQUE of four peers: 4 MiB in 4 parts, one around every peer. A part around a peer passes
  // between the machines over two of three edges up, and down.
  const auto job = two_by_two({mib});
  KungfuCpu by_index({.graph = KungfuGraph::clique}, job, 0);
  const auto moved = play(by_index, iteration(1));
  REQUIRE(moved.sizes_by_exchange.size() == 2 + 8);
  for (std::size_t exchange = 2; exchange < 10; ++exchange) {
    CHECK(moved.sizes_by_exchange[exchange] == mib);
  }
}

TEST_CASE("model averaging starts with the iteration and assigns behind backward", "[kungfu_sma]") {
  KungfuCpu strategy({}, two_by_two({10, 20}), KungfuCpu::always);
  const auto start = strategy.on_event(Seconds{}, IterationStart{0});
  // A flag, and both copies to the host: the window is two.
  REQUIRE(start.size() == 3);
  CHECK(std::get<Messages>(start[1]).size == Bytes{40});
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(end.size() == 2);
  CHECK(std::get<Gate>(end[0]).until == std::vector<OperationId>{0});
  CHECK(std::get<DeviceWork>(end[1]).traffic == Bytes{3 * 120});
}

TEST_CASE("AdaSGD averages models, broadcasts once, then reduces gradients", "[kungfu_ada]") {
  KungfuCpu strategy({}, two_by_two({10}), 1);
  CHECK(play(strategy, iteration(1)).sizes_by_exchange ==
        std::vector<std::int64_t>{40, 40, 40, 40});
  KungfuCpu switched({}, two_by_two({10}), 1);
  std::vector<Event> events = {IterationStart{1}, BackwardDone{}};
  // The broadcast alone: to the host, down the tree, to the GPU.
  const auto moved = play(switched, events);
  CHECK(moved.sizes_by_exchange == std::vector<std::int64_t>{40, 40, 40, 0});
}

TEST_CASE("one peer only copies to the host and back", "[kungfu_sync]") {
  auto job = toy_job({10});
  job.world_size = 1;
  KungfuCpu strategy({}, job, 0);
  const auto moved = play(strategy, iteration(1));
  CHECK(moved.sizes_by_exchange == std::vector<std::int64_t>{40, 40});
  CHECK(moved.raised == 1);
}

TEST_CASE("NCCL all-reduces go in the order of the names, whatever is ready first",
          "[kungfu_sync]") {
  auto job = two_by_two({10, 20});
  job.tensors[0].name = "b";
  job.tensors[1].name = "a";
  KungfuNccl strategy(job, false);
  strategy.on_event(Seconds{}, IterationStart{0});                // 0: flag
  strategy.on_event(Seconds{}, HookFired{.tensor = 1});           // 1
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});           // 2
  CHECK(strategy.on_event(Seconds{}, OperationDone{2}).empty());  // "b" waits for "a"
  CHECK(collective_sizes(strategy.on_event(Seconds{}, OperationDone{1})) ==
        std::vector<std::int64_t>{80, 40});
}

TEST_CASE("fused NCCL is one all-reduce of all gradients, with copies", "[kungfu_sync]") {
  KungfuNccl strategy(two_by_two({10, 20}), true);
  strategy.on_event(Seconds{}, IterationStart{0});
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(end.size() == 4);
  CHECK(collective_sizes(end) == std::vector<std::int64_t>{120});
}

TEST_CASE("hierarchical: reduce in the machine, first GPUs over the hosts, broadcast",
          "[kungfu_sync]") {
  KungfuHierarchical strategy({}, two_by_two({10}));
  const auto moved = play(strategy, iteration(1));
  // Only the first GPU of each machine is copied: messages between machines as before.
  CHECK(moved.sizes_by_exchange == std::vector<std::int64_t>{40, 40, 40, 40});
  CHECK(strategy.exchanges()[0].phases[0].size() == 2);
  CHECK(moved.raised == 1);
}

TEST_CASE("what a machine is called changes nothing", "[kungfu]") {
  // Local stars of three machines are equally busy; the first one's CPU also sums for the root.
  const auto texts = [](const std::vector<int>& machines) {
    auto job = toy_job_on(machines, {400'000, 300});
    KungfuCpu strategy({.graph = KungfuGraph::binary_tree_star}, job, 0);
    return ToyLoop(strategy).iterate(job, 0);
  };
  CHECK(texts({0, 0, 1, 1, 2, 2}) == texts({2, 2, 1, 1, 0, 0}));
}

TEST_CASE("the noise scale takes norms behind the all-reduces, the variance reduces squares too",
          "[kungfu]") {
  const JobView job = two_by_two({100, 200});
  const auto iterate = [&job](KungfuMonitor::Kind kind, int iteration) {
    KungfuCpu strategy({}, job, 0, {.kind = kind, .interval = 2});
    CHECK(strategy.phasing().period == (kind == KungfuMonitor::Kind::none ? 1 : 2));
    ToyLoop loop(strategy);
    loop.iterate(job, iteration);
    CHECK(loop.quiet());
    std::int64_t copied = 0;
    std::int64_t traffic = 0;
    for (const auto& operation : loop.log()) {
      const auto* message = std::get_if<Messages>(&operation);
      if (message != nullptr && message->label == "copy to host") copied += message->size.count();
      const auto* work = std::get_if<DeviceWork>(&operation);
      if (work != nullptr) traffic += work->traffic.count();
    }
    return std::pair{copied, traffic};
  };
  using Kind = KungfuMonitor::Kind;
  constexpr std::int64_t model = 1200;
  CHECK(iterate(Kind::none, 0) == std::pair{model, std::int64_t{0}});
  // Own and mean gradients, each fused (2), squared (2) and summed (1).
  CHECK(iterate(Kind::noise_scale, 0) == std::pair{model, 10 * model});
  CHECK(iterate(Kind::noise_scale, 1) == std::pair{model, std::int64_t{0}});
  // Squares (2), their mean (2), the mean's square (2), the difference (3), its norm (3).
  CHECK(iterate(Kind::variance, 0) == std::pair{2 * model, 12 * model});
}
