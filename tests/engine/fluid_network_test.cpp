#include "sim/engine/fluid_network.hpp"

#include <algorithm>
#include <vector>

#include "sim/engine/incremental_transport.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

constexpr double bandwidth = 12.5e9;
constexpr double latency = 5e-6;
constexpr int ranks = 6;

/// Counts what our own solver is given.
class Counting final : public Transport {
 public:
  Counting(const FlowProblem& problem, int& flows)
      : own_(make_incremental_transport(problem, 0)), flows_(flows) {}
  void start(std::uint32_t column, double bytes, double rate_cap, Token token) override {
    ++flows_;
    own_->start(column, bytes, rate_cap, token);
  }
  void wake_at(Seconds when) override { own_->wake_at(when); }
  void run(Listener& listener) override { own_->run(listener); }

 private:
  std::unique_ptr<Transport> own_;
  int& flows_;
};

/// A slow link, so that a chain's hops end at different times; two phases; and a ring.
std::vector<Pattern> patterns() {
  Pattern chain = toy::chain(toy::ranks(ranks), 4);
  chain.phases.push_back(chain.phases.front());
  chain.phases.back().steps = 2;
  return {chain, toy::ring(toy::ranks(ranks))};
}

std::vector<ClusterLink> links() {
  auto star = toy::star(ranks, bandwidth, latency);
  star[4].capacity /= 3;
  return star;
}

std::vector<double> ends(const std::vector<toy::Start>& starts, const EngineOptions& options) {
  return toy::run_with(links(), patterns(), starts, options);
}

/// Flows that our own solver is given.
int given(const std::vector<toy::Start>& starts) {
  int flows = 0;
  EngineOptions options = toy::options(Fidelity::fluid);
  options.transport = [&](const FlowProblem& problem) {
    return std::make_unique<Counting>(problem, flows);
  };
  ends(starts, options);
  return flows;
}

TEST_CASE("What moves alone is no matter of our own solver", "[engine][fluid]") {
  CHECK(given({{0, 0, 10'000'000}}) == 0);
  CHECK(given({{0, 0, 10'000'000}, {1, 1, 10'000'000}}) == 0);
  // The second begins while the first moves: both move on by the solver.
  CHECK(given({{0, 0, 10'000'000}, {1e-3, 1, 10'000'000}}) > 0);
}

TEST_CASE("Where another transfer begins, what is left is shared as SimGrid would",
          "[engine][fluid]") {
  EngineOptions own = toy::options(Fidelity::fluid);
  own.slack = 0;
  // Alone: when each phase of the chain ends, and the ring.
  const double chain = ends({{0, 0, 10'000'000}}, own).front();
  const double ring = ends({{0, 1, 10'000'000}}, own).front();
  for (const double share : {0.0, 0.1, 0.3, 0.5, 0.8, 0.999, 1.0, 1.1}) {
    const std::vector<std::vector<toy::Start>> cases = {
        {{0, 0, 10'000'000}, {share * chain, 1, 3'000'000}},
        {{0, 1, 10'000'000}, {share * ring, 0, 3'000'000}},
        {{0, 0, 10'000'000}, {share * chain, 0, 100'000}, {share * chain + 1e-4, 1, 1'000'000}},
        {{0, 1, 10'000'000, toy::uncontended(2 * ring)}, {share * ring, 1, 1'000'000}}};
    for (const auto& starts : cases) {
      const auto found = ends(starts, own);
      const auto expected = ends(starts, toy::options(Fidelity::fluid));
      for (std::size_t i = 0; i < starts.size(); ++i) {
        CHECK(found[i] == Approx(expected[i]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("A measured time below what the links need is not taken on trust", "[engine][fluid]") {
  const double ring = ends({{0, 1, 10'000'000}}, toy::options(Fidelity::fluid)).front();
  const std::vector<toy::Start> faster = {{0, 1, 10'000'000, toy::uncontended(ring / 10)}};
  CHECK(given(faster) > 0);
}

}  // namespace
}  // namespace gradwire
