#include "sim/engine/fair_rates.hpp"

#include "sim/engine/transport.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// One link of 100 B/s, which every flow passes once.
FlowProblem one_link() {
  FlowProblem problem;
  problem.capacity = {100};
  problem.columns = {{{.row = 0, .weight = 1}}};
  return problem;
}

}  // namespace

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
