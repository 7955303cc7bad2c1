#include "sim/engine/fair_rates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "sim/engine/route_classes.hpp"
#include "sim/engine/transport.hpp"
#include "tests/catch.hpp"
#include "tests/engine/oracle/max_min.hpp"

using namespace gradwire;

namespace {

/// One link of 100 B/s, which a flow passes once, or twice in the second column.
FlowProblem one_link() {
  FlowProblem problem;
  problem.capacity = {100};
  problem.columns = {{{.row = 0, .weight = 1}}, {{.row = 0, .weight = 2}}};
  return problem;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int between(int a, int b) {
    return a + static_cast<int>(engine_() % static_cast<unsigned>(b - a + 1));
  }

 private:
  std::mt19937 engine_;
};

/// Shared rows, of which each column takes up to three, for every other column a row of its own,
/// and a wide one that takes all that the first two let through.
FlowProblem random_rows(Random& random) {
  FlowProblem problem;
  const int rows = random.between(2, 12);
  for (int row = 0; row < rows; ++row) problem.capacity.push_back(1e9 / random.between(1, 3));
  for (int columns = random.between(2, 30); columns > 0; --columns) {
    auto& column = problem.columns.emplace_back();
    for (int uses = random.between(1, 3); uses > 0; --uses) {
      const auto row = static_cast<std::uint32_t>(random.between(0, rows - 1));
      if (std::ranges::find(column, row, &RowUse::row) != column.end()) continue;
      column.push_back({row, static_cast<std::uint32_t>(random.between(1, 3))});
    }
    if (columns % 2 == 0) continue;
    column.push_back({static_cast<std::uint32_t>(problem.capacity.size()), 1});
    problem.capacity.push_back(1e9 / random.between(2, 8));
  }
  const auto wide = static_cast<std::uint32_t>(problem.capacity.size());
  problem.capacity.push_back(3 * (problem.capacity[0] + problem.capacity[1]));
  for (auto& column : problem.columns) {
    if (std::ranges::any_of(column, [](const RowUse& use) { return use.row < 2; })) {
      column.push_back({wide, static_cast<std::uint32_t>(random.between(1, 3))});
    }
  }
  return problem;
}

struct Flow {
  FairRates::StreamId stream = 0;
  ColumnFlow alone;
};

/// [row]: does it take no turns? route_classes_test.cpp says when others keep one from being full.
std::vector<bool> never_full(const FlowProblem& problem) {
  std::vector<bool> rows(problem.capacity.size(), true);
  for (const auto& turns : RouteClasses(problem).turns) rows[turns.others] = false;
  return rows;
}

/// The worst difference of a flow's rate from the reference solver's, which takes each flow alone.
double worst_difference(const FairRates& rates, const FlowProblem& problem,
                        const std::vector<Flow>& flows) {
  std::vector<ColumnFlow> alone;
  alone.reserve(flows.size());
  for (const Flow& flow : flows) alone.push_back(flow.alone);
  const auto expected = rates_in_turn(problem, alone, never_full(problem));
  double worst = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    worst = std::max(worst, std::abs(rates.rate(flows[f].stream) / expected[f] - 1));
  }
  return worst;
}

}  // namespace

TEST_CASE("Streams of flows that come and go have the rates of each flow by itself",
          "[engine][fair][ports]") {
  const bool with_copies = GENERATE(false, true);
  double worst = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    FlowProblem problem = random_rows(random);
    for (std::size_t column = 0; with_copies && column < problem.columns.size(); ++column) {
      problem.copies.push_back(random.between(0, 2) == 0);
    }
    for (std::size_t row = 0; with_copies && row < problem.capacity.size(); ++row) {
      problem.parts.push_back(static_cast<std::uint32_t>(random.between(1, 3)));
    }
    FairRates rates(problem, 0);
    std::vector<Flow> flows;
    for (int instant = 0; instant < 60; ++instant) {
      for (int changes = random.between(1, 6); changes > 0; --changes) {
        if (!flows.empty() && random.between(0, 100) > 60 - instant / 2) {
          const int gone = random.between(0, static_cast<int>(flows.size()) - 1);
          rates.remove(flows[static_cast<std::size_t>(gone)].stream);
          flows.erase(flows.begin() + gone);
          continue;
        }
        const auto column = static_cast<std::uint32_t>(
            random.between(0, static_cast<int>(problem.columns.size()) - 1));
        const double cap =
            random.between(0, 2) == 0 ? 2e7 * random.between(1, 4) : Transport::no_cap;
        const FairRates::StreamId stream = rates.add(column, cap);
        flows.push_back({stream, {column, cap}});
      }
      rates.update();
      worst = std::max(worst, worst_difference(rates, problem, flows));
    }
  }
  CHECK(worst < 1e-11);
}

TEST_CASE("A row that only flows of one route class pass shares what it lets through",
          "[engine][fair]") {
  // 90 B/s for three flows of the second route class, one of 10 B/s at most: (90 - 10) / 2 = 40 for
  // each other; the first route class's flow has what they leave of 200, 110.
  FlowProblem problem;
  problem.capacity = {200, 90};
  problem.columns = {{{.row = 0, .weight = 1}}, {{.row = 0, .weight = 1}, {.row = 1, .weight = 1}}};
  FairRates rates(problem, 0);
  const auto other = rates.add(0, Transport::no_cap);
  const auto slow = rates.add(1, 10);
  const auto fast = rates.add(1, Transport::no_cap);
  rates.add(1, Transport::no_cap);
  rates.update();
  CHECK(rates.rate(slow) == Approx(10));
  CHECK(rates.rate(fast) == Approx(40));
  CHECK(rates.rate(other) == Approx(110));

  // Without the slow one 90 / 2 = 45 each, and 200 - 90 = 110; alone 90 and 110.
  rates.remove(slow);
  rates.update();
  CHECK(rates.rate(fast) == Approx(45));
  rates.remove(fast);
  rates.update();
  CHECK(rates.rate(fast) == Approx(90));
  CHECK(rates.rate(other) == Approx(110));
}

TEST_CASE("Flows that stay share what a flow leaves once more than the slack is unused",
          "[engine][fair]") {
  // Four flows of 100 B/s have 25 each. Without slack the three that stay have 100 / 3 each.
  const FlowProblem problem = one_link();
  FairRates exact(problem, 0);
  FairRates lazy(problem, 0.4);
  FairRates::StreamId stream = 0;
  for (FairRates* rates : {&exact, &lazy}) {
    for (int i = 0; i < 4; ++i) stream = rates->add(0, Transport::no_cap);
    rates->update();
    CHECK(rates->rate(stream) == Approx(25));
    rates->remove(stream);
    rates->update();
  }
  CHECK(exact.rate(stream) == Approx(100.0 / 3));

  // With a slack of 0.4: 3 * 25 = 75 is no less than 60, so nobody rises; 2 * 25 = 50 is.
  CHECK(lazy.rate(stream) == Approx(25));
  lazy.remove(stream);
  lazy.update();
  CHECK(lazy.rate(stream) == Approx(50));
}
