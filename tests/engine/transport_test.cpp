#include "sim/engine/transport.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

#include "sim/engine/incremental_transport.hpp"
#include "sim/engine/simgrid_transport.hpp"
#include "tests/catch.hpp"
#include "tests/engine/oracle/reference_transport.hpp"

namespace gradwire {
namespace {

struct TimedFlow {
  double start = 0;  ///< seconds
  std::uint32_t column = 0;
  double bytes = 0;
  double cap = Transport::no_cap;
};

/// Starts flows at their times and notes when they end.
class Player final : public Transport::Listener {
 public:
  Player(Transport& transport, std::vector<TimedFlow> flows)
      : transport_(transport), flows_(std::move(flows)), ends_(flows_.size(), -1) {}

  std::vector<double> play() {
    wake();
    transport_.run(*this);
    return ends_;
  }

  void on_instant(Seconds now, std::span<const Transport::Token> ended) override {
    for (const auto token : ended) ends_[token] = now.count();
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (started_[f] || flows_[f].start > now.count()) continue;
      started_[f] = true;
      transport_.start(flows_[f].column, flows_[f].bytes, flows_[f].cap, f);
    }
    wake();
  }

 private:
  void wake() {
    started_.resize(flows_.size(), false);
    double next = Transport::no_cap;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (!started_[f]) next = std::min(next, flows_[f].start);
    }
    if (next < Transport::no_cap) transport_.wake_at(Seconds{next});
  }

  Transport& transport_;
  std::vector<TimedFlow> flows_;
  std::vector<bool> started_;
  std::vector<double> ends_;
};

struct Problem {
  FlowProblem rows;
  std::vector<TimedFlow> flows;
};

std::unique_ptr<Transport> make_own_transport(FlowProblem problem) {
  return make_incremental_transport(problem);
}

/// @param flows_a_column  columns stand for so many flows on average.
Problem random_problem(unsigned seed, int flows_a_column = 1) {
  std::mt19937 random(seed);
  const auto between = [&](int a, int b) {
    return a + static_cast<int>(random() % static_cast<unsigned>(b - a + 1));
  };
  Problem problem;
  const int rows = between(3, 8);
  for (int r = 0; r < rows; ++r) {
    problem.rows.capacity.push_back(1e9 * between(1, 4) / between(1, 3));
  }
  const int flows = between(2, 14);
  for (int f = 0; f < flows; ++f) {
    std::vector<RowUse> column;
    for (int uses = between(1, 3); uses > 0; --uses) {
      const auto row = static_cast<std::uint32_t>(between(0, rows - 1));
      const bool known = std::any_of(column.begin(), column.end(),
                                     [&](const RowUse& use) { return use.row == row; });
      if (!known) column.push_back({row, static_cast<std::uint32_t>(between(1, 5))});
    }
    problem.rows.columns.push_back(column);
    const double cap = between(0, 3) == 0 ? 1e8 * between(1, 8) : Transport::no_cap;
    for (int again = between(1, 2 * flows_a_column - 1); again > 0; --again) {
      problem.flows.push_back({0.25 * between(0, 4) + 0.001 * between(1, 2),
                               static_cast<std::uint32_t>(f), 1e8 * between(1, 20), cap});
    }
  }
  return problem;
}

/// The worst difference of an end from the reference solver's, relative to the time in flight.
template <class Make>
double worst_difference(Make make, int flows_a_column, std::size_t flows_least) {
  double worst = 0;
  std::size_t flows = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    const Problem problem = random_problem(seed, flows_a_column);
    const auto expected = Player(*make_reference_transport(problem.rows), problem.flows).play();
    const auto got = Player(*make(problem.rows), problem.flows).play();
    for (std::size_t f = 0; f < expected.size(); ++f) {
      const double in_flight = expected[f] - problem.flows[f].start;
      REQUIRE(in_flight > 0);
      worst = std::max(worst, std::abs(got[f] - expected[f]) / in_flight);
    }
    flows += expected.size();
  }
  CHECK(flows > flows_least);
  return worst;
}

// Different starts, weights 1 to 5, some rate caps.

TEST_CASE("SimGrid and the reference solver agree on 500 random problems", "[engine][transport]") {
  CHECK(worst_difference(make_simgrid_transport, 1, 3500) < 1e-9);
}

TEST_CASE("Our own solver and the reference solver agree on 1000 random problems",
          "[engine][transport]") {
  CHECK(worst_difference(make_own_transport, 1, 3500) < 1e-9);
  CHECK(worst_difference(make_own_transport, 4, 14000) < 1e-9);
}

TEST_CASE("With slack a shared row wastes what a late end keeps, and no more",
          "[engine][transport][slack]") {
  // Full but for `slack` at all times. Of n flows left, one that has ended keeps C / n for at most
  // slack * T longer: over all N flows slack * T * C * (1/N + ... + 1/1) are lost, so that
  // T * C * (1 - slack) <= bytes + slack * T * C * H. No row is overfull: T >= bytes / C.
  const double slack = GENERATE(0.003, 0.01, 0.03);
  constexpr std::size_t flow_count = 400;
  std::mt19937 random(7);
  FlowProblem problem{{1000}, {}};
  std::vector<TimedFlow> flows;
  double bytes = 0;
  double harmonic = 0;
  for (std::uint32_t f = 0; f < flow_count; ++f) {
    problem.columns.push_back({{0, 1}});
    flows.push_back({0, f, 1.0 + static_cast<double>(random() % 1000)});
    bytes += flows.back().bytes;
    harmonic += 1.0 / (f + 1);
  }
  const auto ends = Player(*make_incremental_transport(problem, slack), flows).play();
  const double last = *std::max_element(ends.begin(), ends.end());
  const double alone = bytes / problem.capacity.front();
  CHECK(last >= alone * (1 - 1e-9));
  CHECK(last > alone * (1 + slack / 10));  // it is not exact either
  CHECK(last <= alone / (1 - slack - slack * harmonic));
}

template <class Make>
void check_sharing(Make make) {
  // One row of 100 B/s. A (400 B) alone until 1 s: 100 B. Then B (300 B): both at 50 B/s. A's other
  // 300 B would last until 7 s, B's 300 B too. C (weight 2, cap 10) at 3 s: A and B 100 B each
  // gone; (100 - 2 * 10) / 2 = 40 B/s: their last 200 B take 5 s, until 8 s. C's 100 B take 10 s.
  const auto transport = make(FlowProblem{{100}, {{{0, 1}}, {{0, 2}}}});
  const auto ends = Player(*transport, {{0, 0, 400}, {1, 0, 300}, {3, 1, 100, 10}}).play();
  CHECK(ends[0] == Approx(8).epsilon(1e-12));
  CHECK(ends[1] == Approx(8).epsilon(1e-12));
  CHECK(ends[2] == Approx(13).epsilon(1e-12));
}

TEST_CASE("With slack messages lose to short copies what exact turns take from them",
          "[engine][transport]") {
  // Messages want 8 of a link's 12 GB/s and have 6 while a copy is there: of 60 kB at 6 GB/s, in 10
  // of every 40 us. 40 of 4 MB, of which one at least is always there, then take 160 MB over
  // 8 - 2 / 4 GB/s. (Beside a mean share of 10.5 GB/s they would take 160 MB over 8.)
  const FlowProblem problem{
      .capacity = {12e9, 8e9}, .columns = {{{0, 1}}, {{0, 1}, {1, 1}}}, .copies = {true, false}};
  std::vector<TimedFlow> flows;
  for (int message = 0; message < 40; ++message) flows.push_back({0.5e-3 * message, 1, 4e6});
  for (int copy = 0; copy < 600; ++copy) flows.push_back({40e-6 * copy, 0, 60e3});
  for (const double slack : {0.0, 0.01}) {
    const auto transport = make_incremental_transport(problem, slack);
    const auto ends = Player(*transport, flows).play();
    CHECK(*std::max_element(ends.begin(), ends.begin() + 40) ==
          Approx(160e6 / 7.5e9).epsilon(5e-3));
  }
}

TEST_CASE("A hand-worked sharing comes out of all transports", "[engine][transport]") {
  check_sharing(make_reference_transport);
  check_sharing(make_simgrid_transport);
  check_sharing(make_own_transport);
}

template <class Make>
void check_lanes(Make make) {
  // Two flows of one column and cap have a cap each; a lane used again gets the new cap.
  const auto transport = make(FlowProblem{{1000}, {{{0, 1}}}});
  const auto ends = Player(*transport, {{0, 0, 100, 10}, {0, 0, 100, 10}, {20, 0, 100, 50}}).play();
  CHECK(ends[0] == Approx(10).epsilon(1e-12));
  CHECK(ends[1] == Approx(10).epsilon(1e-12));
  CHECK(ends[2] == Approx(22).epsilon(1e-12));
}

TEST_CASE("Rate caps belong to flows, not to columns", "[engine][transport]") {
  check_lanes(make_reference_transport);
  check_lanes(make_simgrid_transport);
  check_lanes(make_own_transport);
}

TEST_CASE("Flows that end together are reported together, with a wake-up", "[engine][transport]") {
  struct Counter final : Transport::Listener {
    void on_instant(Seconds now, std::span<const Transport::Token> ended) override {
      calls.emplace_back(now.count(), ended.size());
    }
    std::vector<std::pair<double, std::size_t>> calls;
  };
  for (const auto make : {make_reference_transport, make_simgrid_transport, make_own_transport}) {
    const auto transport = make(FlowProblem{{3}, {{{0, 1}}, {{0, 1}}}});
    transport->start(0, 30, Transport::no_cap, 1);
    transport->start(1, 30, Transport::no_cap, 2);
    transport->wake_at(Seconds{20});
    Counter counter;
    transport->run(counter);
    // 60 B at 3 B/s: 20 s
    REQUIRE(counter.calls.size() == 1);
    CHECK(counter.calls[0].first == Approx(20).epsilon(1e-15));
    CHECK(counter.calls[0].second == 2);
  }
}

TEST_CASE("A transport thrown out of can be followed by another", "[engine][transport]") {
  struct Thrower final : Transport::Listener {
    void on_instant(Seconds, std::span<const Transport::Token>) override {
      throw std::runtime_error("stop");
    }
  };
  for (const auto make : {make_reference_transport, make_simgrid_transport, make_own_transport}) {
    for (int round = 0; round < 3; ++round) {
      const auto transport = make(FlowProblem{{10}, {{{0, 1}}}});
      transport->start(0, 100, Transport::no_cap, 1);
      transport->start(0, 100, 1, 2);
      transport->wake_at(Seconds{50});
      transport->wake_at(Seconds{1});
      Thrower thrower;
      CHECK_THROWS_WITH(transport->run(thrower), "stop");
    }
    // Never run: dropped with its flow.
    const auto unused = make(FlowProblem{{10}, {{{0, 1}}}});
    unused->start(0, 100, Transport::no_cap, 1);
  }
  check_sharing(make_simgrid_transport);
}

}  // namespace
}  // namespace gradwire
