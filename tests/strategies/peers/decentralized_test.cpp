#include "strategies/peers/decentralized.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

JobView machines_of_two(int machines) {
  auto job = toy_job({10, 20});
  job.world_size = 2 * machines;
  job.machines = machines;
  for (int rank = 0; rank < job.world_size; ++rank) job.machine_of.push_back(rank / 2);
  return job;
}

}  // namespace

TEST_CASE("hierarchical averaging: in the machine, among first GPUs, back behind backward",
          "[decentralized]") {
  Decentralized strategy({}, machines_of_two(2));
  const auto start = strategy.on_event(Seconds{}, IterationStart{0});  // 0 flag, 1 reduce
  REQUIRE(start.size() == 2);
  CHECK(std::get<Collective>(start[1]).kind == CollectiveKind::reduce);
  CHECK(std::get<Collective>(start[1]).communicator == families::node);
  const auto talk = strategy.on_event(Seconds{}, OperationDone{1});  // 2
  CHECK(std::get<Collective>(talk[0]).communicator == families::leaders);
  CHECK(std::get<Raise>(strategy.on_event(Seconds{}, OperationDone{2})[0]).flag == 0);  // 3
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(end.size() == 4);  // gate, broadcast, gate, copy
  CHECK(std::get<Gate>(end[0]).until == std::vector<OperationId>{0});
  CHECK(std::get<Collective>(end[1]).kind == CollectiveKind::broadcast);
  CHECK(std::get<Gate>(end[2]).until == std::vector<OperationId>{5});
}

TEST_CASE("shift_one pairs the halves, every time anew, and nobody twice", "[decentralized]") {
  const int machines = GENERATE(2, 6, 8);
  const Decentralized strategy({.peers = PeerSelection::shift_one}, machines_of_two(machines));
  const auto exchanges = strategy.exchanges();
  REQUIRE(static_cast<int>(exchanges.size()) == machines / 2);
  std::set<std::pair<int, int>> pairs;
  for (const auto& exchange : exchanges) {
    std::set<int> senders;
    for (const auto& message : exchange.phases[0]) {
      CHECK(message.from.index % 2 == 0);  // first GPUs only
      senders.insert(message.from.index);
      pairs.insert({message.from.index, message.to.index});
    }
    CHECK(static_cast<int>(senders.size()) == machines);
  }
  // Every one of the first half has met every one of the other, both ways.
  CHECK(static_cast<int>(pairs.size()) == 2 * (machines / 2) * (machines / 2));
}

TEST_CASE("between averagings nothing is posted", "[decentralized]") {
  Decentralized strategy({.interval = 3}, machines_of_two(2));
  CHECK_FALSE(strategy.on_event(Seconds{}, IterationStart{0}).empty());
  for (const int iteration : {1, 2}) {
    CHECK(strategy.on_event(Seconds{}, IterationStart{iteration}).empty());
    CHECK(strategy.on_event(Seconds{}, BackwardDone{}).empty());
  }
}

TEST_CASE("low precision sends a byte an element to both neighbours behind the optimizer",
          "[decentralized]") {
  Decentralized strategy(
      {.low_precision = true, .hierarchical = false, .peers = PeerSelection::ring},
      machines_of_two(2));
  CHECK(strategy.on_event(Seconds{}, IterationStart{0}).size() == 1);  // 0 flag: nothing overlaps
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});  // 1 optimizer, 2 marker, 3 gate
  REQUIRE(end.size() == 3);
  CHECK(std::holds_alternative<OptimizerStep>(end[0]));
  const auto encode = strategy.on_event(Seconds{}, OperationDone{2});  // 4
  CHECK(std::get<DeviceWork>(encode[0]).stream == DeviceStream::side);
  const auto send = strategy.on_event(Seconds{}, OperationDone{4});  // 5
  CHECK(std::get<Collective>(send[0]).kind == CollectiveKind::send_recv);
  CHECK(std::get<Collective>(send[0]).size == Bytes{2 * (30 + 8)});
  CHECK(std::get<Collective>(send[0]).communicator == families::all);
  CHECK(strategy.exchanges().empty());
  strategy.on_event(Seconds{}, OperationDone{5});  // 6 decode
  CHECK(std::get<Raise>(strategy.on_event(Seconds{}, OperationDone{6})[0]).flag == 0);
}

TEST_CASE("one GPU has nobody to talk to, and goes on", "[decentralized]") {
  auto job = toy_job_on({0}, {10});
  Decentralized strategy({.peers = PeerSelection::shift_one}, job);
  const auto start = strategy.on_event(Seconds{}, IterationStart{0});
  REQUIRE(start.size() == 2);
  CHECK(std::get<Raise>(start[1]).flag == 0);
}
