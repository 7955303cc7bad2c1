#include "strategies/all_reduce/local_sgd.hpp"

#include <algorithm>
#include <memory>

#include "strategies/all_reduce/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

LocalSgd make(const LocalSgdOptions& options, const JobView& job) {
  return {options, job,
          std::make_unique<Ddp>(DdpOptions{.version = {1, 7}, .broadcast_buffers = false}, job)};
}

struct Iteration {
  Operations hook;
  Operations end;
};

/// An iteration of a job with one tensor.
Iteration run(LocalSgd& strategy, int iteration) {
  strategy.on_event(Seconds{}, IterationStart{iteration});
  auto hook = strategy.on_event(Seconds{}, HookFired{.tensor = 0});
  return {std::move(hook), strategy.on_event(Seconds{}, BackwardDone{})};
}

}  // namespace

TEST_CASE("post-local SGD is DDP until start_localSGD_iter, then reduces inside machines",
          "[local_sgd]") {
  auto strategy = make({.period = 2, .start_local_sgd_iter = 1}, toy_job({10}));
  const auto ddp = run(strategy, 0);
  CHECK(describe(ddp.hook) == Words{"copy into bucket", "bucket 0"});  // 0, 1
  CHECK(std::get<Collective>(ddp.hook[1]).communicator == families::all);
  CHECK(describe(ddp.end) == Words{"gate 1", "copy back", "optimizer 1"});  // 2, 3, 4

  const auto local = run(strategy, 1);
  CHECK(describe(local.hook) == Words{"copy into bucket", "divide", "bucket 0"});  // 5, 6, 7
  CHECK(std::get<Collective>(local.hook[2]).communicator == families::node);
  // 8 gate, 9 copy back, 10 optimizer, 11 and 12 the buffer of parameters, 13 their all-reduce.
  CHECK(describe(local.end) == Words{"gate 7", "copy back", "optimizer 1", "flatten parameters",
                                     "divide", "average of the parameters", "gate 13"});
  CHECK(std::get<Collective>(local.end[5]).communicator == families::all);
  CHECK(std::get<Collective>(local.end[5]).size == Bytes{10 * 4});
}

TEST_CASE("local SGD averages every period-th step, counted from its start", "[local_sgd]") {
  auto strategy = make({.period = 3, .start_local_sgd_iter = 2}, toy_job({10}));
  std::vector<int> averages;
  for (int i = 0; i < 9; ++i) {
    const auto end = describe(run(strategy, i).end);
    const bool there = std::ranges::find(end, "average of the parameters") != end.end();
    if (there) averages.push_back(i);
    CHECK(strategy.plan(i).size() == (there ? 2 : 1));
  }
  CHECK(averages == std::vector<int>{2, 5, 8});
}

TEST_CASE("without the gradients' all-reduce only parameters travel", "[local_sgd]") {
  auto strategy = make({.period = 2, .post_local_gradient_allreduce = false}, toy_job({10}));
  run(strategy, 0);
  const auto quiet = run(strategy, 1);
  CHECK(describe(quiet.hook) == Words{"copy into bucket"});
  CHECK(describe(quiet.end) == Words{"copy back", "optimizer 1"});
  CHECK(strategy.plan(1).empty());
}

TEST_CASE("local SGD steps once for several micro-batches", "[local_sgd]") {
  auto strategy = make({}, toy_job({10}, 2));
  strategy.on_event(Seconds{}, IterationStart{0});
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 0}).empty());
  CHECK(strategy.on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  CHECK_FALSE(strategy.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 1}).empty());
}
