#include "strategies/all_reduce/ddp.hpp"

#include "sim/core/refusal.hpp"
#include "strategies/all_reduce/zero_redundancy.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Three tensors, each its own bucket, gradients views of them, nothing to divide by the hook.
DdpOptions bucket_views(DdpOptimizer optimizer) {
  return {.version = {2, 0},
          .bucket_cap = Bytes{4},
          .first_bucket_cap = Bytes{4},
          .gradient_as_bucket_view = true,
          .optimizer = optimizer};
}

Operations sharded_step(const JobView& job, bool as_bucket_view) {
  Poster poster;
  post_sharded_step(job, as_bucket_view, poster);
  return poster.take();
}

}  // namespace

TEST_CASE("ZeRO gives the largest tensors to the ranks that have least", "[ddp][zero]") {
  // Largest first: 9 -> rank 0, 7 -> 1, 5 -> 2, 4 -> 3 (0 so far each), 3 -> 3 (4 is least),
  // 2 -> 2 (5), 1 -> 1 (7, 7, 7: the first).
  const auto job = toy_job({1, 2, 3, 4, 5, 7, 9});
  const auto shares = partition_parameters(job);
  CHECK(shares == std::vector<std::vector<TensorId>>{{6}, {5, 0}, {4, 1}, {3, 2}});
}

TEST_CASE("ZeRO steps on the largest share, then broadcasts every rank's", "[ddp][zero]") {
  const auto job = toy_job({10, 30, 20});  // 4 ranks: 30 | 20 | 10 | nothing
  const auto by_tensor = sharded_step(job, false);
  CHECK(std::get<OptimizerStep>(by_tensor.front()).share == Approx(30.0 / 60.0));
  CHECK(collective_sizes(by_tensor) == std::vector<std::int64_t>{120, 80, 40});
  CHECK(std::get<Gate>(by_tensor.back()).until == std::vector<OperationId>{1, 2, 3});
  // A rank without parameters has a bucket of one element.
  CHECK(collective_sizes(sharded_step(job, true)) == std::vector<std::int64_t>{120, 80, 40, 4});
}

TEST_CASE("DDP leaves the step to ZeRO behind its buckets", "[ddp][zero]") {
  Ddp ddp(bucket_views(DdpOptimizer::zero_redundancy), toy_job({10, 20}));
  CHECK(ddp.traits().own_optimizer);
  ddp.on_event(Seconds{}, IterationStart{1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});
  REQUIRE(end.size() == 6);  // two buckets, the step, two broadcasts, the wait
  CHECK(std::get<Collective>(end[3]).kind == CollectiveKind::broadcast);
  // Before it 2 divisions and 2 buckets: broadcasts are operations 4 + 3 and 4 + 4.
  CHECK(std::get<Gate>(end[5]).until == std::vector<OperationId>{7, 8});
}

TEST_CASE("an optimizer in backward updates a bucket once it is reduced", "[ddp]") {
  auto job = toy_job({10, 30});
  job.optimizer = Seconds{8};
  Ddp ddp(bucket_views(DdpOptimizer::in_backward), job);
  ddp.on_event(Seconds{}, IterationStart{1});
  const auto hook = ddp.on_event(Seconds{}, HookFired{.tensor = 1});  // divide, bucket, flag
  REQUIRE(hook.size() == 3);
  const auto update = ddp.on_event(Seconds{}, OperationDone{1});
  REQUIRE(update.size() == 1);
  const auto& work = std::get<DeviceWork>(update.front());
  CHECK(work.time.count() == Approx(8.0 * 30 / 40));
  CHECK(work.stream == DeviceStream::side);
  const auto raised = ddp.on_event(Seconds{}, OperationDone{3});
  REQUIRE(raised.size() == 1);
  CHECK(std::get<Raise>(raised.front()).flag == 2);
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});  // 5 divide, 6 bucket, 7 flag
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});
  CHECK(std::get<Gate>(end.back()).until == std::vector<OperationId>{2, 7});
}

TEST_CASE("a static graph's first iteration reduces behind backward", "[ddp]") {
  auto options = bucket_views(DdpOptimizer::step);
  options.static_graph = true;
  Ddp ddp(options, toy_job({10, 20}));
  ddp.on_event(Seconds{}, IterationStart{0});
  CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(collective_sizes(ddp.on_event(Seconds{}, BackwardDone{})) ==
        std::vector<std::int64_t>{120});
  ddp.on_event(Seconds{}, IterationStart{1});
  CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 1}).size() == 1);  // the division
}

TEST_CASE("a static graph's map of unused parameters is reduced once", "[ddp]") {
  auto options = bucket_views(DdpOptimizer::step);
  options.find_unused_parameters = true;
  options.static_graph = true;
  Ddp ddp(options, toy_job({10}));
  const auto maps = [&](int iteration) {
    ddp.on_event(Seconds{}, IterationStart{iteration});
    ddp.on_event(Seconds{}, HookFired{.tensor = 0});
    const auto sizes = collective_sizes(ddp.on_event(Seconds{}, BackwardDone{}));
    return std::ranges::count(sizes, 4);  // one int32: one parameter
  };
  CHECK(maps(0) == 1);
  CHECK(maps(1) == 0);
}

TEST_CASE("join() asks who is still here before each forward, and whose buffers to take", "[ddp]") {
  auto options = bucket_views(DdpOptimizer::step);
  options.join = true;
  auto job = toy_job({10});
  Ddp plain(options, job);
  CHECK(collective_sizes(plain.on_event(Seconds{}, IterationStart{1})) ==
        std::vector<std::int64_t>{4, 4});
  // Divided by who is left, the first gradient waits for the first of them.
  options.divide_by_initial_world_size = false;
  Ddp counted(options, job);
  counted.on_event(Seconds{}, IterationStart{1});
  const auto posted = counted.on_event(Seconds{}, HookFired{.tensor = 0});
  REQUIRE(std::holds_alternative<Gate>(posted.front()));
  CHECK(std::get<Gate>(posted.front()).until == std::vector<OperationId>{0});
  // A norm of 2 channels: 4 statistics of fp32 and a counter of int64.
  job.buffer_tensors = 3;
  job.buffer_elements = 5;
  Ddp norms(options, job);
  CHECK(collective_sizes(norms.on_event(Seconds{}, IterationStart{1})) ==
        std::vector<std::int64_t>{4, 4, 8, 16, 8});
}

TEST_CASE("gradients are not clipped by a norm that is known after the first update",
          "[ddp][zero]") {
  auto job = toy_job({10, 30});
  job.clips_gradients = true;
  CHECK_THROWS_AS(Ddp(bucket_views(DdpOptimizer::in_backward), job), UnsupportedConfiguration);
  DdpOptions in_hook = bucket_views(DdpOptimizer::zero_redundancy);
  in_hook.overlap_with_ddp = ZeroHook::last_bucket;
  CHECK_THROWS_AS(Ddp(in_hook, job), UnsupportedConfiguration);
  CHECK_NOTHROW(Ddp(bucket_views(DdpOptimizer::zero_redundancy), job));
  CHECK_NOTHROW(Ddp(bucket_views(DdpOptimizer::step), job));
}
