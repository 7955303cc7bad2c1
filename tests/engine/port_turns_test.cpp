#include <cstdint>
#include <utility>

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

constexpr double pcie = 12e9;
constexpr double wire = 100e9;

/// One flow over these links.
Pattern flow_over(std::initializer_list<LinkId> links) {
  Pattern pattern;
  pattern.algorithm = "direct";
  pattern.ranks = 2;
  pattern.path_links = links;
  Phase phase;
  phase.flows.push_back({0, 1, 1.0, 0, 0, static_cast<std::uint32_t>(links.size())});
  pattern.phases.push_back(phase);
  return pattern;
}

/// 0: a switch's link; 1 and 2: its GPUs'; 3: the network.
std::vector<ClusterLink> two_gpus_and_a_port() {
  return {{pcie, 0, LinkKind::pcie},
          {pcie, 0, LinkKind::pcie},
          {pcie, 0, LinkKind::pcie},
          {wire, 0, LinkKind::network}};
}

TEST_CASE("A GPU's copy gets half of a PCIe link, however many messages a NIC has on it",
          "[engine][ports]") {
  constexpr std::int64_t copied = 6'000'000;
  constexpr std::int64_t sent = 600'000'000;
  // 0: the link of both; 1: the network
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({0, 1})};
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    for (const int messages : {1, 3, 7}) {
      std::vector<toy::Start> starts;
      for (int i = 0; i < messages; ++i) starts.push_back({0, 1, sent, {}});
      starts.push_back({1e-3, 0, copied, {}});
      const double end = toy::run(links, patterns, starts, fidelity).back();
      CHECK(end - 1e-3 == Approx(copied / (pcie / 2)).epsilon(1e-6));
    }
    // Messages have what a copy leaves, and all of the link without one.
    const auto ends =
        toy::run(links, patterns, {{0, 1, sent, {}}, {1e-3, 0, copied, {}}}, fidelity);
    CHECK(ends[0] == Approx((sent + copied) / pcie).epsilon(1e-6));
  }
}

TEST_CASE("A ring within a machine has a GPU's turn, too, however many messages a NIC has",
          "[engine][ports]") {
  // 0: the link of a GPU and the NIC; 1: the network; 2: the way back
  const std::vector<ClusterLink> links{
      {pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}, {pcie, 0, LinkKind::pcie}};
  Pattern ring = flow_over({0, 2});
  Phase& phase = ring.phases.front();
  phase = {.flows = {{0, 1, 1.0, 0, 0, 1}, {1, 0, 1.0, 0, 1, 1}},
           .steps = 2,
           .coupling = Coupling::ring};
  std::vector<toy::Start> starts(7, {0, 1, 600'000'000, {}});
  starts.push_back({1e-3, 0, 6'000'000, {}});
  const double end = toy::run(links, {ring, flow_over({0, 1})}, starts, Fidelity::fluid).back();
  CHECK(end - 1e-3 == Approx(6e6 / (pcie / 2)).epsilon(1e-6));
}

TEST_CASE("A copy's half follows messages that begin and end beside it", "[engine][ports]") {
  // A copy of 36 MB from 0 on; of the messages, 1, 9 and then 3 at a time. As long as any is there
  // it has 6 GB/s, and 12 from 4 ms on: 24 MB and 1 ms more.
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({0, 1})};
  std::vector<toy::Start> starts{{0, 0, 36'000'000, {}}, {0, 1, 6'000'000, {}}};
  for (int i = 0; i < 9; ++i) starts.push_back({1e-3, 1, 12'000'000 / 9, {}});
  for (int i = 0; i < 3; ++i) starts.push_back({3e-3, 1, 2'000'000, {}});
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    const auto ends = toy::run(links, patterns, starts, fidelity);
    CHECK(ends[0] == Approx(5e-3).epsilon(1e-6));
    CHECK(ends[1] == Approx(1e-3).epsilon(1e-6));
    CHECK(ends[2] == Approx(3e-3).epsilon(1e-6));
    CHECK(ends.back() == Approx(4e-3).epsilon(1e-6));
  }
}

TEST_CASE("A copy has all that slower messages leave, and no less than half", "[engine][ports]") {
  // 1 GB/s and a message that wants 100: alone with a copy they get 1 and 5 of 12, not 1 and 9.
  // 0: the link of both; 1 and 2: networks
  const std::vector<ClusterLink> links{
      {pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}, {1e9, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({0, 1}), flow_over({0, 2})};
  const auto both = toy::run(links, patterns,
                             {{0, 0, 6'000'000, {}}, {0, 1, 5'000'000, {}}, {0, 2, 1'000'000, {}}},
                             Fidelity::fluid);
  for (const double end : both) CHECK(end == Approx(1e-3).epsilon(1e-6));
  const auto slow =
      toy::run(links, patterns, {{0, 0, 11'000'000, {}}, {0, 2, 1'000'000, {}}}, Fidelity::fluid);
  for (const double end : slow) CHECK(end == Approx(1e-3).epsilon(1e-6));
}

TEST_CASE("Two GPUs' copies and a NIC have a third each, two copies of one GPU share a half",
          "[engine][ports]") {
  const std::vector<ClusterLink> links = two_gpus_and_a_port();
  const std::vector<Pattern> patterns{flow_over({1, 0}), flow_over({2, 0}), flow_over({0, 3})};
  const std::vector<toy::Start> gpus{
      {0, 0, 4'000'000, {}}, {0, 1, 4'000'000, {}}, {0, 2, 2'000'000, {}}, {0, 2, 2'000'000, {}}};
  for (const double end : toy::run(links, patterns, gpus, Fidelity::fluid)) {
    CHECK(end == Approx(1e-3).epsilon(1e-6));
  }
  const std::vector<toy::Start> one{
      {0, 0, 3'000'000, {}}, {0, 0, 3'000'000, {}}, {0, 2, 6'000'000, {}}};
  for (const double end : toy::run(links, patterns, one, Fidelity::fluid)) {
    CHECK(end == Approx(1e-3).epsilon(1e-6));
  }
}

TEST_CASE("GPUs that are alike have a turn each, though their copies move as one flow",
          "[engine][ports]") {
  // A third of 12 GB/s for each copy and for both messages.
  const std::vector<ClusterLink> links = two_gpus_and_a_port();
  Pattern copies = flow_over({1, 0, 2, 0});
  copies.phases.front().flows = {{0, 1, 1.0, 0, 0, 2}, {0, 1, 1.0, 0, 2, 2}};
  Pattern messages = flow_over({0, 3});
  messages.phases.front().flows = {{0, 1, 1.0, 0, 0, 2}, {0, 1, 1.0, 0, 0, 2}};
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::coupled, Fidelity::step}) {
    for (const double end : toy::run(links, {copies, messages},
                                     {{0, 0, 4'000'000, {}}, {0, 1, 2'000'000, {}}}, fidelity)) {
      CHECK(end == Approx(1e-3).epsilon(1e-6));
    }
  }
}

TEST_CASE("Our own solver's turns are those of the law, solved anew at every event",
          "[engine][ports]") {
  // Copies of two GPUs and messages to four ends come and go on a switch's link.
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie},   {pcie, 0, LinkKind::pcie},
                                       {pcie, 0, LinkKind::pcie},   {wire, 0, LinkKind::network},
                                       {1e9, 0, LinkKind::network}, {3e9, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({1, 0}), flow_over({2, 0}), flow_over({0, 3}),
                                      flow_over({0, 4}), flow_over({0, 3, 5})};
  std::vector<toy::Start> starts;
  for (int i = 0; i < 60; ++i) {
    starts.push_back({1e-4 * (i * 7 % 23), i * 3 % 5, 500'000 + 90'000 * (i * 11 % 17), {}});
  }
  const auto ends = toy::run(links, patterns, starts, Fidelity::fluid);
  const auto expected = toy::run(links, patterns, starts, Fidelity::fluid, true);
  for (std::size_t i = 0; i < ends.size(); ++i) CHECK(ends[i] == Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("With slack a copy has its turn beside any number of messages", "[engine][ports]") {
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({0, 1})};
  EngineOptions options = toy::options(Fidelity::fluid);
  options.slack = 0.01;
  for (const int messages : {1, 7, 30, 200}) {
    const auto engine = make_engine(links, patterns, options);
    engine->at(Seconds{0}, [&engine, messages] {
      const CollectiveCost cost;
      for (int i = 1; i <= messages; ++i) engine->network().start(i, 1, Bytes{600'000'000}, cost);
      engine->network().start(0, 0, Bytes{6'000'000}, cost);
    });
    double end = 0;
    engine->run([&end](TransferId id, Seconds now) {
      if (id == 0) end = now.count();
    });
    CHECK(end == Approx(6e6 / (pcie / 2)).epsilon(0.01));
  }
}

TEST_CASE("Copies share a link by flow where no message is on it", "[engine][ports]") {
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({1})};
  const auto ends = toy::run(
      links, patterns, {{0, 0, 6'000'000, {}}, {0, 0, 6'000'000, {}}, {0, 1, 100'000'000, {}}},
      Fidelity::fluid);
  CHECK(ends[0] == Approx(12e6 / pcie).epsilon(1e-6));
  CHECK(ends[1] == Approx(12e6 / pcie).epsilon(1e-6));
}

}  // namespace
}  // namespace gradwire
