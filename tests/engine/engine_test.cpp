#include "sim/engine/engine.hpp"

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

// Up and down link of 1 GB/s, no latency: 1e9 bytes from rank to rank take 1 s.
std::vector<ClusterLink> links() {
  return toy::star(4, 1e9, 0);
}
std::vector<Pattern> patterns() {
  return {toy::pairs({{0, 1}}), toy::pairs({{2, 3}})};
}

TEST_CASE("Completions come by id, before the events of their instant", "[engine]") {
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    for (const bool reference : {false, true}) {
      const auto engine = make_engine(links(), patterns(), toy::options(fidelity, reference));
      std::string order;
      engine->at(
          Seconds{1}, [&] { order += "c"; }, 1);
      engine->at(Seconds{1}, [&] { order += "b"; });
      engine->at(
          Seconds{1}, [&] { order += "a"; }, -1);
      engine->network().start(7, 0, Bytes{1'000'000'000}, {});
      engine->network().start(3, 1, Bytes{1'000'000'000}, {});
      engine->network().start(5, 1, Bytes{}, toy::start_up(1));
      engine->run([&](TransferId id, Seconds now) {
        CHECK(now == Seconds{1});
        order += std::to_string(id);
        if (id == 3) engine->at(now, [&] { order += "d"; });
      });
      CHECK(order == "357abdc");
    }
  }
}

TEST_CASE("A transfer may start from every callback", "[engine]") {
  const auto engine = make_engine(links(), patterns(), {.fidelity = Fidelity::fluid});
  std::vector<double> ends;
  engine->at(Seconds{0.5}, [&] { engine->network().start(0, 0, Bytes{1'000'000'000}, {}); });
  engine->run([&](TransferId id, Seconds now) {
    ends.push_back(now.count());
    if (id < 3) engine->network().start(id + 1, 0, Bytes{id == 1 ? 0 : 500'000'000}, {});
  });
  // 0.5 + 1, + 0.5, + 0 (nothing to move), + 0.5
  REQUIRE(ends.size() == 4);
  CHECK(ends[0] == Approx(1.5).epsilon(1e-12));
  CHECK(ends[1] == Approx(2.0).epsilon(1e-12));
  CHECK(ends[2] == ends[1]);
  CHECK(ends[3] == Approx(2.5).epsilon(1e-12));
}

TEST_CASE("The clock shows the time asked for, to the last bit", "[engine]") {
  const auto engine = make_engine(links(), patterns(), {});
  double shown = 0;
  engine->network().start(0, 0, Bytes{1'000'000'000}, {});
  engine->at(Seconds{0.1 + 0.2}, [&] { shown = engine->now().count(); });
  engine->run([](TransferId, Seconds) {});
  CHECK(shown == 0.1 + 0.2);
}

/// Rings, pairs and chains that meet; ends of all.
std::vector<double> busy_run(bool reference = false) {
  auto busy = toy::star(12, 1.1e9, 3e-6);
  busy[5].capacity /= 1.7;
  const std::vector<Pattern> mix{toy::ring(toy::ranks(12), 2), toy::ring(toy::ranks(12, 3)),
                                 toy::chain(toy::ranks(12), 6), toy::pairs({{0, 5}, {4, 5}})};
  std::vector<toy::Start> starts;
  for (int i = 0; i < 40; ++i) {
    CollectiveCost cost = toy::start_up(1e-6 * i);
    cost.hop_network = Seconds{2e-6};
    starts.push_back({1e-4 * i, i % 4, 100'000 + 7'777 * i, cost});
  }
  return toy::run(busy, mix, starts, Fidelity::fluid, reference);
}

void check_near(const std::vector<double>& ends, const std::vector<double>& expected) {
  REQUIRE(ends.size() == expected.size());
  for (std::size_t i = 0; i < ends.size(); ++i) CHECK(ends[i] == Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("The same input gives the same output, bit for bit", "[engine]") {
  const auto first = busy_run(true);
  CHECK(first == busy_run(true));
  // SimGrid's clock goes on from engine to engine, so bits are those of a fresh process only.
  check_near(busy_run(), first);
}

TEST_CASE("An exception of an action comes out and leaves the process usable", "[engine]") {
  const auto before = busy_run();
  for (int round = 0; round < 3; ++round) {
    const auto engine = make_engine(links(), patterns(), {.fidelity = Fidelity::fluid});
    engine->network().start(0, 0, Bytes{1'000'000'000}, {});
    engine->at(Seconds{0.5}, [] { throw std::domain_error("from an action"); });
    engine->at(Seconds{3}, [] { FAIL("runs after the end"); });
    CHECK_THROWS_AS(engine->run([](TransferId, Seconds) {}), std::domain_error);
  }
  check_near(busy_run(), before);
}

TEST_CASE("An exception of a completion comes out and leaves the process usable", "[engine]") {
  const auto before = busy_run();
  {
    const auto engine = make_engine(links(), patterns(), {.fidelity = Fidelity::fluid});
    engine->network().start(0, 0, Bytes{1'000'000'000}, {});
    engine->network().start(1, 1, Bytes{2'000'000'000}, {});
    CHECK_THROWS_WITH(engine->run([](TransferId, Seconds) { throw std::runtime_error("stop"); }),
                      "stop");
  }
  check_near(busy_run(), before);
}

TEST_CASE("An engine runs on after it has come to rest", "[engine]") {
  const auto engine = make_engine(links(), patterns(), {.fidelity = Fidelity::fluid});
  std::vector<double> ends;
  const Network::OnDone note = [&](TransferId, Seconds now) { ends.push_back(now.count()); };
  engine->network().start(0, 0, Bytes{1'000'000'000}, {});
  engine->run(note);
  engine->at(Seconds{4}, [&] { engine->network().start(1, 0, Bytes{1'000'000'000}, {}); });
  engine->run(note);
  REQUIRE(ends.size() == 2);
  CHECK(ends[0] == Approx(1).epsilon(1e-12));
  CHECK(ends[1] == Approx(5).epsilon(1e-12));
}

TEST_CASE("Above 5000 columns rates are exact up to 3.2 million groups of gradients x columns",
          "[engine]") {
  std::vector<Pattern> messages;  // 72 x 71 = 5112, each between a pair of its own
  for (int from = 0; from < 72; ++from) {
    for (int to = 0; to < 72; ++to) {
      if (from != to) messages.push_back(toy::pairs({{from, to}}));
    }
  }
  const auto is_exact = [&](std::function<std::size_t()> groups) {
    const EngineOptions options{.fidelity = Fidelity::fluid, .groups = std::move(groups)};
    const auto engine = make_engine(toy::star(72, 1e9, 0), messages, options);
    CHECK(engine->network().stats().flow_classes == 5112);
    return engine->network().stats().why.find("% of their time late") == std::string::npos;
  };
  CHECK(is_exact([] { return 625U; }));  // 3.2e6 / 5112 = 625.98
  CHECK_FALSE(is_exact([] { return 626U; }));
  CHECK_FALSE(is_exact({}));
}

}  // namespace
}  // namespace gradwire
