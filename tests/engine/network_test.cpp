#include <array>
#include <string>

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

constexpr double bandwidth = 12.5e9;
constexpr double latency = 5e-6;
constexpr std::int64_t size = 10'000'000;
constexpr std::array both = {Fidelity::fluid, Fidelity::step};

double alone(const std::vector<ClusterLink>& links, const Pattern& pattern,
             const CollectiveCost& cost, Fidelity fidelity, std::int64_t bytes = size) {
  return toy::run(links, {pattern}, {{0, 0, bytes, cost}}, fidelity)[0];
}

TEST_CASE("A ring takes 2 (n-1) (alpha + S / (n b))", "[engine][network]") {
  for (const Fidelity fidelity : both) {
    for (const int n : {2, 3, 4, 8, 16, 64}) {
      const double expected = 2 * (n - 1) * (latency + static_cast<double>(size) / (n * bandwidth));
      CHECK(alone(toy::star(n, bandwidth, latency), toy::ring(toy::ranks(n)), {}, fidelity) ==
            Approx(expected).epsilon(1e-9));
    }
  }
}

TEST_CASE("A ring with a slow NIC runs at the pace of its slowest hop", "[engine][network]") {
  for (const Fidelity fidelity : both) {
    for (const int n : {4, 16, 64}) {
      auto links = toy::star(n, bandwidth, latency);
      links[2].capacity /= 3;
      const double chunk = static_cast<double>(size) / n;
      CHECK(alone(links, toy::ring(toy::ranks(n)), {}, fidelity) ==
            Approx(2 * (n - 1) * (latency + 3 * chunk / bandwidth)).epsilon(1e-9));
      // Long latency and slow link on different hops: the slower of the two, not their sum.
      links[7].latency += 2e-6;
      CHECK(alone(links, toy::ring(toy::ranks(n)), {}, fidelity) ==
            Approx(2 * (n - 1) *
                   std::max(latency + 3 * chunk / bandwidth, latency + 2e-6 + chunk / bandwidth))
                .epsilon(1e-9));
    }
  }
}

TEST_CASE("Channels share the NIC and end together", "[engine][network]") {
  // Each of 3 channels moves a third at a third of the bandwidth: latency is paid in parallel.
  const int n = 8;
  for (const Fidelity fidelity : both) {
    CHECK(alone(toy::star(n, bandwidth, latency), toy::ring(toy::ranks(n), 3), {}, fidelity) ==
          Approx(2 * (n - 1) * (latency + static_cast<double>(size) / (n * bandwidth)))
              .epsilon(1e-9));
  }
}

TEST_CASE("A chain takes hops + pieces - 1 pieces", "[engine][network]") {
  const int n = 9;
  const int pieces = 20;
  auto links = toy::star(n, bandwidth, latency);
  const double piece = latency + static_cast<double>(size) / pieces / bandwidth;
  for (const Fidelity fidelity : both) {
    CHECK(alone(links, toy::chain(toy::ranks(n), pieces), {}, fidelity) ==
          Approx((n - 1 + pieces - 1) * piece).epsilon(1e-9));
  }
  // A hop at half the bandwidth: the first piece passes all hops, the others wait for that hop.
  links[6].capacity /= 2;
  const double slow = latency + 2 * static_cast<double>(size) / pieces / bandwidth;
  for (const Fidelity fidelity : both) {
    CHECK(alone(links, toy::chain(toy::ranks(n), pieces), {}, fidelity) ==
          Approx((n - 2) * piece + slow + (pieces - 1) * slow).epsilon(1e-9));
  }
}

TEST_CASE("A phase starts when the one before has ended", "[engine][network]") {
  const int n = 4;
  Pattern pattern = toy::ring(toy::ranks(n));
  pattern.phases.push_back(pattern.phases[0]);
  pattern.phases[1].coupling = Coupling::independent;
  pattern.phases[1].steps = 1;
  // Ring, then the same bytes in one message each.
  const double bytes = 2.0 * (n - 1) / n * size;
  for (const Fidelity fidelity : both) {
    CHECK(alone(toy::star(n, bandwidth, latency), pattern, {}, fidelity) ==
          Approx(2 * (n - 1) * latency + bytes / bandwidth + latency + bytes / bandwidth)
              .epsilon(1e-9));
  }
}

TEST_CASE("The cost adds start-up, hops by kind, and bytes on the wire", "[engine][network]") {
  CollectiveCost cost = toy::start_up(20e-6);
  cost.hop_nvlink = Seconds{1e-6};
  cost.hop_pcie = Seconds{2e-6};
  cost.hop_network = Seconds{4e-6};
  cost.efficiency = 0.5;
  const double chunk = 2.0 * size / 2 / bandwidth;
  const auto expected = [&](double hop) { return 20e-6 + 2 * (latency + hop + chunk); };
  auto links = toy::star(2, bandwidth, latency);
  for (const Fidelity fidelity : both) {
    const auto time = [&] { return alone(links, toy::ring({0, 1}), cost, fidelity); };
    for (auto& link : links) link.kind = LinkKind::nvlink;
    CHECK(time() == Approx(expected(1e-6)).epsilon(1e-9));
    links[1].kind = LinkKind::smp;
    CHECK(time() == Approx(expected(2e-6)).epsilon(1e-9));
    links[0].kind = LinkKind::network;
    CHECK(time() == Approx(expected(4e-6)).epsilon(1e-9));
  }
}

TEST_CASE("A time has the same bits whatever ran before in the process", "[engine][network]") {
  const auto links = toy::star(7, bandwidth, latency);
  const auto time = [&](Fidelity fidelity) {
    return alone(links, toy::ring(toy::ranks(7), 3), toy::start_up(1.7e-6), fidelity);
  };
  for (const Fidelity fidelity : both) {
    const double before = time(fidelity);
    alone(links, toy::ring(toy::ranks(7)), toy::uncontended(1e4), fidelity);  // hours
    CHECK(time(fidelity) == before);
  }
}

TEST_CASE("A measured time near that of the wire is taken by pipelines, too", "[engine][network]") {
  // Eight hops of one piece after the other: with 4 pieces it takes 11 messages' time where each
  // link is busy for 4. A library of finer pieces measured 5.
  const auto links = toy::star(9, 1e9, 0);
  const Fidelity fidelity = GENERATE(Fidelity::fluid, Fidelity::coupled, Fidelity::step);
  const double measured = 1.25 * size / 1e9;
  CHECK(alone(links, toy::chain(toy::ranks(9), 4), toy::uncontended(measured), fidelity) ==
        Approx(measured).epsilon(1e-9));
}

TEST_CASE("A measured time is what the uncontended collective takes", "[engine][network]") {
  for (const Fidelity fidelity : both) {
    auto links = toy::star(16, bandwidth, latency);
    links[4].capacity /= 2;
    for (const Pattern& pattern : {toy::ring(toy::ranks(16), 2), toy::chain(toy::ranks(16), 5)}) {
      CHECK(alone(links, pattern, toy::uncontended(0.05), fidelity) == Approx(0.05).epsilon(1e-9));
    }
    // Not even a measurement makes a link faster: 2 * 15/16 * S over the slow one.
    CHECK(alone(links, toy::ring(toy::ranks(16)), toy::uncontended(1e-6), fidelity) ==
          Approx(2.0 * 15 / 16 * size / (bandwidth / 2)).epsilon(1e-9));
  }
}

TEST_CASE("Contention acts on top of a measured time", "[engine][network]") {
  // Alone at 40 % of the link: two of them do not meet; three share it, 5/6 of their pace each.
  const double unhindered = 2.0 * 3 / 4 * size / bandwidth;
  const CollectiveCost cost = toy::uncontended(unhindered / 0.4);
  const auto links = toy::star(4, bandwidth, latency);
  const toy::Start start{0, 0, size, cost};
  const std::vector<Pattern> patterns{toy::ring(toy::ranks(4))};
  for (const double end : toy::run(links, patterns, {start, start}, Fidelity::fluid)) {
    CHECK(end == Approx(unhindered / 0.4).epsilon(1e-9));
  }
  for (const double end : toy::run(links, patterns, {start, start, start}, Fidelity::fluid)) {
    CHECK(end == Approx(unhindered * 3).epsilon(1e-9));
  }
}

TEST_CASE("Nothing to move ends at once, after the start-up", "[engine][network]") {
  const auto links = toy::star(4, bandwidth, latency);
  for (const Fidelity fidelity : both) {
    CHECK(alone(links, toy::ring({0}), {}, fidelity) == 0);
    CHECK(alone(links, toy::ring(toy::ranks(4)), {}, fidelity, 0) == 0);
    CHECK(alone(links, toy::ring({0}), toy::start_up(3e-6), fidelity) == 3e-6);
  }
}

/// Over the first link in use; 0: there is none.
double first_bytes(const Network& network) {
  std::vector<double> bytes;
  network.visit_usage([&](const LinkUse& use) { bytes.push_back(use.bytes); });
  return bytes.empty() ? 0 : bytes.front();
}

TEST_CASE("Usage counts the wire bytes of each link", "[engine][network]") {
  const auto links = toy::star(6, bandwidth, latency);
  for (const Fidelity fidelity : both) {
    const std::vector<Pattern> patterns{toy::ring({1, 3, 4}), toy::ring(toy::ranks(6))};
    const auto engine = make_engine(links, patterns, {.fidelity = fidelity});
    engine->network().start(1, 0, Bytes{size}, toy::wire_efficiency(0.5));
    engine->run([](TransferId, Seconds) {});
    std::vector<LinkId> used;
    double bytes_least = 1e300;
    double bytes_most = 0;
    engine->network().visit_usage([&](const LinkUse& use) {
      used.push_back(use.link);
      bytes_least = std::min(bytes_least, use.bytes);
      bytes_most = std::max(bytes_most, use.bytes);
    });
    // Up and down of ranks 1, 3 and 4.
    CHECK(used == std::vector<LinkId>{2, 3, 6, 7, 8, 9});
    CHECK(bytes_least == Approx(2.0 * 2 / 3 * size / 0.5));
    CHECK(bytes_most == Approx(bytes_least));
  }
}

TEST_CASE("Of a transfer under way when usage is restarted, what comes after counts",
          "[engine][network]") {
  // Alone and without latency it moves evenly: after a quarter of its time three quarters are left.
  const auto links = toy::star(4, bandwidth, 0);
  const std::vector<Pattern> patterns{toy::ring(toy::ranks(4))};
  const double taken = 2.0 * 3 / 4 * size / bandwidth;
  for (const Fidelity fidelity : both) {
    const auto engine = make_engine(links, patterns, {.fidelity = fidelity});
    engine->network().start(1, 0, Bytes{size}, {});
    engine->at(Seconds{taken / 4}, [&] { engine->network().restart_usage(); });
    engine->run([](TransferId, Seconds) {});
    CHECK(first_bytes(engine->network()) == Approx(0.75 * bandwidth * taken).epsilon(1e-9));
  }
}

TEST_CASE("What has finished since then is counted again", "[engine][network]") {
  // Two of `size` bytes one after the other, of which the second counts three times in all.
  const auto links = toy::star(2, bandwidth, 0);
  const std::vector<Pattern> patterns{toy::pairs({{0, 1}})};
  for (const Fidelity fidelity : both) {
    const auto engine = make_engine(links, patterns, {.fidelity = fidelity});
    engine->network().start(0, 0, Bytes{size}, {});
    engine->run([&](TransferId id, Seconds) {
      if (id == 1) return;
      const Carried before = engine->network().carried();
      CHECK(before.bytes == std::vector<double>{size});
      engine->network().start(1, 0, Bytes{size}, {});
      engine->at(Seconds{2.5 * size / bandwidth},
                 [&, before] { engine->network().count_again(before, 2); });
    });
    CHECK(first_bytes(engine->network()) == Approx(4.0 * size).epsilon(1e-12));
  }
}

TEST_CASE("A message takes its latency and its own bytes, at every price", "[engine][network]") {
  // 5 us + bytes / (12.5 GB/s * efficiency); alone, so that none is longer than that.
  const auto links = toy::star(2, bandwidth, latency);
  const std::vector<Pattern> patterns{toy::pairs({{0, 1}})};
  for (const Fidelity fidelity : both) {
    const auto engine = make_engine(links, patterns, {.fidelity = fidelity});
    double before = 0;
    double expected = 0;
    const auto start = [&](TransferId id) {
      const double efficiency = id % 2 == 0 ? 1 : 0.5;
      const std::int64_t bytes = 1'000'000 * (id + 1);
      expected = latency + static_cast<double>(bytes) / (bandwidth * efficiency);
      engine->network().start(id, 0, Bytes{bytes}, toy::wire_efficiency(efficiency));
    };
    start(0);
    engine->run([&](TransferId id, Seconds now) {
      CHECK(now.count() - before == Approx(expected).epsilon(1e-9));
      before = now.count();
      if (id < 5) start(id + 1);
    });
    CHECK(engine->network().contended().bytes == 0);
  }
}

TEST_CASE("Messages that differ in their routes alone take each its own", "[engine][network]") {
  // Two to the same place share its link, a third to another one has its own: 2 S / b and S / b.
  // A price of its own for each of twenty more: what it adds per hop, and S / b.
  const auto links = toy::star(8, bandwidth, latency);
  const std::vector<Pattern> patterns = {toy::pairs({{0, 7}}), toy::pairs({{1, 7}}),
                                         toy::pairs({{2, 6}})};
  const double moves = static_cast<double>(size) / bandwidth;
  for (const Fidelity fidelity : both) {
    std::vector<toy::Start> starts = {{0, 0, size, {}}, {0, 1, size, {}}, {0, 2, size, {}}};
    constexpr int prices = 20;
    for (int i = 1; i <= prices; ++i) {
      CollectiveCost cost;
      cost.hop_network = Seconds{i * 1e-6};
      starts.push_back({1.0 * i, 2, size, cost});
    }
    const auto ends = toy::run(links, patterns, starts, fidelity);
    CHECK(ends[0] == Approx(latency + 2 * moves).epsilon(1e-9));
    CHECK(ends[1] == Approx(latency + 2 * moves).epsilon(1e-9));
    CHECK(ends[2] == Approx(latency + moves).epsilon(1e-9));
    for (int i = 1; i <= prices; ++i) {
      CHECK(ends[static_cast<std::size_t>(i) + 2] ==
            Approx(i + latency + i * 1e-6 + moves).epsilon(1e-9));
    }
  }
}

TEST_CASE("Plans that are forgotten are made again as they were", "[engine][network]") {
  // More sizes than are kept, one after the other and each twice: size / bandwidth each.
  const auto links = toy::star(2, bandwidth, 0);
  const std::vector<Pattern> patterns{toy::ring(toy::ranks(2))};
  const auto engine = make_engine(links, patterns, {.fidelity = Fidelity::fluid});
  constexpr TransferId sizes = 6000;
  double before = 0;
  double expected = 0;
  const auto start = [&](TransferId id) {
    const std::int64_t bytes = 1'000'000 + id % sizes;
    expected = static_cast<double>(bytes) / bandwidth;
    engine->network().start(id, 0, Bytes{bytes}, {});
  };
  start(0);
  engine->run([&](TransferId id, Seconds now) {
    REQUIRE(now.count() - before == Approx(expected).epsilon(1e-6));
    before = now.count();
    if (id + 1 < 2 * sizes) start(id + 1);
  });
}

/// "fidelity, flow classes: why"
std::string choice(int ranks, Fidelity fidelity) {
  const auto links = toy::star(ranks, bandwidth, latency);
  const std::vector<Pattern> patterns{toy::ring(toy::ranks(ranks))};
  const auto engine = make_engine(links, patterns, {.fidelity = fidelity});
  const NetworkStats& stats = engine->network().stats();
  return stats.fidelity + ", " + std::to_string(stats.flow_classes) + ": " + stats.why;
}

TEST_CASE("Short transfers keep their bound after long runs in the same process",
          "[engine][network]") {
  // SimGrid's clock goes on from run to run: after 800 s it is exact to 1e-13 s, 1e-6 of 0.1 us.
  const auto links = toy::star(2, bandwidth, 0);
  alone(links, toy::ring(toy::ranks(2)), {}, Fidelity::fluid, 10'000'000'000'000);
  for (std::int64_t bytes = 1000; bytes < 2000; bytes += 50) {
    CHECK(alone(links, toy::ring(toy::ranks(2)), {}, Fidelity::fluid, bytes) ==
          Approx(static_cast<double>(bytes) / bandwidth).margin(1e-12 * 800));
  }
}

TEST_CASE("Fidelity is chosen by ranks and messages, and says why", "[engine][network]") {
  // 2 (n-1) n messages: 60 for 6 ranks, 480 for 16
  CHECK(choice(6, Fidelity::automatic) ==
        "step, 6: 6 ranks and 60 messages in one collective, few enough");
  CHECK(choice(16, Fidelity::automatic) ==
        "fluid, 1: 480 messages in one collective, more than 64");
  CHECK(choice(17, Fidelity::automatic) == "fluid, 1: 17 ranks, more than 16");
  CHECK(choice(17, Fidelity::step) == "step, 17: asked for");
}

TEST_CASE("Step refuses too many messages and says how many", "[engine][network]") {
  const auto links = toy::star(64, bandwidth, latency);
  const std::vector<Pattern> patterns{toy::ring(toy::ranks(64))};
  // 2 * 63 * 64 = 8064
  CHECK_THROWS_WITH(
      make_engine(links, patterns, {.fidelity = Fidelity::step, .step_messages_max = 8000}),
      Catch::ContainsSubstring("8064 messages") && Catch::ContainsSubstring("at most 8000") &&
          Catch::ContainsSubstring(" s each time"));
  CHECK_NOTHROW(
      make_engine(links, patterns, {.fidelity = Fidelity::step, .step_messages_max = 8064}));
}

}  // namespace
}  // namespace gradwire
