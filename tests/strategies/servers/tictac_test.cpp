#include "strategies/servers/tictac.hpp"

#include <algorithm>

#include "strategies/servers/tictac_order.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Texts = std::vector<std::string>;

JobView two_ranks(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 1}, elements, {2});
}

}  // namespace

TEST_CASE("TIC orders pulls by the layer that needs them first", "[tictac]") {
  // Registered in another order than they are needed: t0 in layer 2, t1 and t3 in layer 0, t2 in 1.
  JobView job = two_ranks({1, 1, 1, 1});
  job.tensors[0].layer = 2;
  job.tensors[1].layer = 0;
  job.tensors[2].layer = 1;
  job.tensors[3].layer = 0;
  CHECK(tic_order(job) == std::vector<int>{3, 0, 2, 1});
}

TEST_CASE("TAC frees the most computation first, then what needs the least time", "[tictac]") {
  // 1 s an element. t0 in layer 1, t1 in layer 0, t2 and t3 in layer 2, of 2, 3, 1 and 1 elements;
  // forwards of 10 s.
  JobView job = two_ranks({2, 3, 1, 1});
  job.layers.assign(3, {.forward = Seconds{10}, .backward = Seconds{}});
  job.network_bandwidth = BytesPerSecond{4};
  job.tensors[0].layer = 1;
  job.tensors[1].layer = 0;
  job.tensors[2].layer = 2;
  job.tensors[3].layer = 2;
  // Layer 0 waits for t1 alone: P = 10, of the others 0, so that t1 goes before each of them:
  // min(0, 3) < min(10, 2). Then t0 for the same reason. Of t2 and t3 the first registered.
  CHECK(tac_order(job) == std::vector<int>{1, 0, 2, 3});
  SECTION("two variables of the first layer") {
    // t0 beside t1: nothing can run with one of them, P = 0 everywhere, but M+ is 5 of these two
    // and 7 of the others. t0 has been registered first; then t1 frees the layer.
    job.tensors[0].layer = 0;
    CHECK(tac_order(job) == std::vector<int>{0, 1, 2, 3});
  }
}

TEST_CASE("in a chain of layers TAC's order is TIC's", "[tictac]") {
  JobView job = two_ranks({7, 1, 1, 90, 4, 2, 30, 1, 8, 5});
  job.network_bandwidth = BytesPerSecond{1e6};
  job.message_latency = Seconds{1e-6};
  int layer = 0;
  for (TensorInfo& tensor : job.tensors) tensor.layer = (7 * layer++ + 3) % 5;
  for (LayerView& view : job.layers) view.forward = Seconds{1e-6 * (1 + ++layer % 4)};
  CHECK(tac_order(job) == tic_order(job));
}

TEST_CASE("all variables are pulled in TIC's order when an iteration starts", "[tictac]") {
  const JobView job = two_ranks({10, 20, 30});
  TicTac tictac({}, job);
  ToyLoop loop(tictac);
  CHECK(loop.tell(IterationStart{}) == Texts{"flag t0", "flag t1", "flag t2", "PULL t0 40 by 1"});
  CHECK(loop.tell(ForwardStart{.layer = 0}) == Texts{"gate 0", "update"});
  CHECK(loop.end_oldest() == Texts{"raise 0", "PULL t1 80 by 1"});
  CHECK(loop.end_oldest() == Texts{"raise 1", "PULL t2 120 by 1"});
}

TEST_CASE("the next pulls wait until the last gradient has been applied", "[tictac]") {
  const JobView job = two_ranks({10, 20});
  TicTac tictac({.sum_rate = core_sum_rate}, job);
  ToyLoop loop(tictac);
  loop.tell(IterationStart{});
  loop.end_all();
  loop.tell(HookFired{.tensor = 1});
  loop.tell(HookFired{.tensor = 0});
  loop.tell(BackwardDone{});
  loop.end_oldest("ready");
  loop.end_oldest("ready");
  loop.end_oldest("PUSH t1");
  // Two ranks' gradients and the update as two more sums of 80 bytes.
  const auto sum = std::ranges::find_if(loop.log(), [](const Operation& operation) {
    return ToyLoop::text(operation).ends_with("SUM t1");
  });
  REQUIRE(sum != loop.log().end());
  CHECK(std::get<HostWork>(*sum).time.count() == Approx(4 * 80 / 14.2e9));

  CHECK(loop.tell(IterationStart{.iteration = 1}) == Texts{"flag t0", "flag t1"});
  const Texts rest = loop.end_all();
  const auto token = std::ranges::find(rest, "host -2 token");
  const auto pull = std::ranges::find(rest, "PULL t0 40 by 1");
  REQUIRE(token != rest.end());
  CHECK(token < pull);
}

TEST_CASE("every rank talks to the servers from its GPU", "[tictac]") {
  const auto exchanges = TicTac({}, two_ranks({10})).exchanges();
  REQUIRE(exchanges.size() == 2);
  REQUIRE(exchanges[0].phases.front().size() == 2);
  CHECK(exchanges[0].phases.front()[1].from == Endpoint{Endpoint::Place::gpu, 1});
  CHECK(exchanges[1].phases.front()[0].from == Endpoint{Endpoint::Place::server, 0});
}

TEST_CASE("iterations of TicTac leave nothing behind", "[tictac]") {
  const JobView job = two_ranks({10, 20, 30});
  TicTac tictac({}, job);
  ToyLoop loop(tictac);
  const std::size_t once = loop.iterate(job, 0).size();
  CHECK(loop.iterate(job, 1).size() == once);
  CHECK(loop.quiet());
}
