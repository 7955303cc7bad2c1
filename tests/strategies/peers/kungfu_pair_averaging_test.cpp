#include "strategies/peers/kungfu_pair_averaging.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("a peer is never oneself; the successor has double the chance", "[pair_averaging]") {
  // Uniform over 8 with oneself sent to the next: 2/8 for the successor, 1/8 for the 6 others.
  // 80 000 draws: standard deviation sqrt(n p (1 - p)) = 122 and 94; five of them are allowed.
  constexpr int peers = 8;
  constexpr int draws = 80'000;
  std::vector<int> count(peers);
  for (int iteration = 0; iteration < draws; ++iteration) {
    ++count[static_cast<std::size_t>(random_peer(1, iteration, 3, peers))];
  }
  CHECK(count[3] == 0);
  CHECK(std::abs(count[4] - draws / 4) < 5 * 122);
  for (const std::size_t other : {0U, 1U, 2U, 5U, 6U, 7U}) {
    CHECK(std::abs(count[other] - draws / 8) < 5 * 94);
  }
}

TEST_CASE("the draw depends on seed, iteration and worker only", "[pair_averaging]") {
  CHECK(random_peer(1, 5, 2, 64) == random_peer(1, 5, 2, 64));
  int same = 0;
  for (int iteration = 0; iteration < 100; ++iteration) {
    if (random_peer(1, iteration, 2, 64) == random_peer(2, iteration, 2, 64)) ++same;
  }
  CHECK(same < 10);
  CHECK(random_peer(1, 0, 0, 1) == 0);
}

TEST_CASE("request and save begin with the iteration, which waits for both", "[pair_averaging]") {
  auto job = toy_job_on({0, 1}, {10, 20});
  KungfuPairAveraging strategy({}, job);
  // Flags 0 averaged, 1 saved; 2 save, 3 request.
  const auto start = strategy.on_event(Seconds{}, IterationStart{0, 1});
  REQUIRE(start.size() == 4);
  CHECK(std::get<Messages>(start[2]).size == Bytes{120});
  const auto& request = std::get<Messages>(start[3]);
  CHECK(request.size == Bytes{120});
  const auto exchange = strategy.exchanges()[static_cast<std::size_t>(request.exchange)];
  CHECK(exchange.phases[0][0].from == Endpoint{Endpoint::Place::host, 0});
  CHECK(exchange.phases[0][0].to == Endpoint{Endpoint::Place::host, 1});
  const auto gate = strategy.on_event(Seconds{}, BackwardDone{.worker = 1});  // 4
  CHECK(std::get<Gate>(gate[0]).until == std::vector<OperationId>{0, 1});
  CHECK(std::get<Gate>(gate[0]).worker == 1);
  CHECK(std::get<Messages>(strategy.on_event(Seconds{}, OperationDone{3})[0]).size == Bytes{120});
  const auto average = strategy.on_event(Seconds{}, OperationDone{5});
  // Two copies of a model into and out of the fused tensor, read both, write one: seven passes.
  CHECK(std::get<DeviceWork>(average[0]).traffic == Bytes{7 * 120});
  CHECK(std::get<Raise>(strategy.on_event(Seconds{}, OperationDone{6})[0]).flag == 0);
  strategy.on_event(Seconds{}, OperationDone{2});
  CHECK(std::get<Raise>(strategy.on_event(Seconds{}, OperationDone{8})[0]).flag == 1);
}

TEST_CASE("unfused, every variable is a request, loaded and averaged by itself",
          "[pair_averaging]") {
  auto job = toy_job_on({0, 1}, {10, 20});
  KungfuPairAveraging strategy({.fuse = false}, job);
  CHECK(strategy.plan(0).size() == 2);
  // Flags 0 averaged, 1 saved; 2 saves and 3 requests the first variable: one copy, one connection.
  const auto start = strategy.on_event(Seconds{}, IterationStart{0, 1});
  REQUIRE(start.size() == 4);
  CHECK(std::get<Messages>(start[2]).size == Bytes{40});
  CHECK(std::get<Messages>(start[3]).size == Bytes{40});
  // The first is loaded (4) while the second is sent (5), and averaged (6) by itself.
  const auto next = strategy.on_event(Seconds{}, OperationDone{3});
  REQUIRE(next.size() == 2);
  CHECK(std::get<Messages>(next[1]).size == Bytes{80});
  const auto average = strategy.on_event(Seconds{}, OperationDone{4});
  CHECK(std::get<DeviceWork>(average.at(0)).traffic == Bytes{3 * 40});
  CHECK(strategy.on_event(Seconds{}, OperationDone{6}).empty());
  strategy.on_event(Seconds{}, OperationDone{5});  // 7 loads
  strategy.on_event(Seconds{}, OperationDone{7});  // 8 averages
  CHECK(std::get<Raise>(strategy.on_event(Seconds{}, OperationDone{8}).at(0)).flag == 0);
}

TEST_CASE("a peer of the same machine answers through a socket", "[pair_averaging]") {
  auto job = toy_job_on({0, 0}, {10});
  KungfuPairAveraging strategy({.host = {.socket_rate = BytesPerSecond{1e9}}}, job);
  const auto start = strategy.on_event(Seconds{}, IterationStart{0, 0});
  CHECK(std::get<HostWork>(start[3]).time.count() == Approx(40e-9));
}

TEST_CASE("a peer serves as many sockets at a time as it has cores", "[pair_averaging]") {
  auto job = toy_job_on(std::vector<int>(8, 0), {10});
  // The thread that answers each worker, by who is asked.
  const auto threads_of = [&job](int cores) {
    KungfuPairAveraging strategy({.host = {.cores = cores}}, job);
    std::map<int, std::vector<int>> threads;
    for (int worker = 0; worker < 8; ++worker) {
      const auto start = strategy.on_event(Seconds{}, IterationStart{0, worker});
      threads[random_peer(1, 0, worker, 8)].push_back(std::get<HostWork>(start.at(3)).thread);
    }
    return threads;
  };
  std::size_t most = 0;
  std::set<int> all;
  for (const auto& [asked, threads] : threads_of(8)) {  // a core each: they take turns
    most = std::max(most, threads.size());
    CHECK(std::set<int>(threads.begin(), threads.end()).size() == 1);
    CHECK(all.insert(threads.front()).second);  // and no other peer's
  }
  CHECK(most >= 2);  // else the draws show nothing
  for (const auto& [asked, threads] : threads_of(64)) {
    CHECK(std::set<int>(threads.begin(), threads.end()).size() == threads.size());
  }
}

TEST_CASE("a core is free again when its socket has been read", "[pair_averaging]") {
  auto job = toy_job_on({0, 0}, {10});
  KungfuPairAveraging strategy({.host = {.cores = 4}}, job);
  const auto first = strategy.on_event(Seconds{}, IterationStart{0, 0});  // 0 to 3
  strategy.on_event(Seconds{}, OperationDone{3});
  const auto second = strategy.on_event(Seconds{}, IterationStart{1, 0});
  const auto is_socket = [](const Operation& operation) {
    const auto* work = std::get_if<HostWork>(&operation);
    return work != nullptr && work->label == "model through a socket";
  };
  const auto at = std::ranges::find_if(second, is_socket);
  REQUIRE(at != second.end());
  CHECK(std::get<HostWork>(*at).thread == std::get<HostWork>(first.at(3)).thread);
}
