#include "strategies/sharded/fsdp.hpp"

#include <algorithm>
#include <string>

#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Driver {
  Fsdp strategy;
  Words on(const Event& event) { return describe(strategy.on_event(Seconds{}, event)); }
  /// Starts an iteration at the first layer, and ends the step before it.
  Words begin(int iteration, OperationId ready) {
    on(IterationStart{.iteration = iteration});
    on(ForwardStart{.layer = 0});
    return on(OperationDone{ready});
  }
};

/// As DeepSpeed's stage 3: a unit a layer, in the model's type.
FsdpOptions stage_three(const LiveParameters& live) {
  FsdpOptions options;
  options.wrap = WrapPolicy::size_based;
  options.unit_size = Bytes{4};
  options.param_bytes = options.reduce_bytes = options.stored_bytes = 2;
  options.limit_all_gathers = false;
  options.live = live;
  return options;
}

/// Four layers of 40 elements on four ranks.
JobView layers() {
  return toy_job({40, 40, 40, 40});
}

}  // namespace

TEST_CASE("stage 3 gathers ahead until the prefetch bucket is full", "[fsdp][deepspeed]") {
  Driver first{{stage_three({.prefetch = 50, .most = 1000}), layers()}};
  // 0: ready, 1: the flag of unit 0, 2: its gate. The first iteration only traces.
  CHECK(first.begin(0, 0) == Words{"all-gather unit 0"});
  // in later ones 40 elements are not enough, 80 are
  Driver later{{stage_three({.prefetch = 50, .most = 1000}), layers()}};
  CHECK(later.begin(1, 0) == Words{"all-gather unit 0", "all-gather unit 1", "all-gather unit 2"});
  Driver none{{stage_three({.prefetch = 0, .most = 1000}), layers()}};
  CHECK(none.begin(1, 0) == Words{"all-gather unit 0"});
  // 60 - 40 may be gathered ahead
  Driver few{{stage_three({.prefetch = 50, .most = 60}), layers()}};
  CHECK(few.begin(1, 0) == Words{"all-gather unit 0", "all-gather unit 1"});
}

TEST_CASE("stage 3 keeps what is used again within the reuse distance", "[fsdp][deepspeed]") {
  // between a unit's forward and backward come twice the units behind it: 0, 80, 160, 240
  const Fsdp fsdp(stage_three({.most = 1000, .reuse = 100}), layers());
  int backward = 0;
  for (const PlanGroup& group : fsdp.plan(0)) {
    if (group.note != "all-gather before backward") continue;
    CHECK(group.tensors.front() < 2);
    ++backward;
  }
  CHECK(backward == 2);
  CHECK(fsdp.holding().gathered == Bytes{2 * 80});
}

TEST_CASE("stage 3 never shards small tensors, and gathers them behind the step",
          "[fsdp][deepspeed]") {
  JobView job = toy_job({40, 6, 40});
  Driver fsdp{{stage_three({.most = 1000, .persistent = 10}), job}};
  CHECK(fsdp.begin(0, 0) == Words{"all-gather unit 0"});
  CHECK(fsdp.on(ForwardStart{.layer = 1}).empty());  // nothing to gather, nothing to free: it stays
  const Words end = fsdp.on(BackwardDone{});
  REQUIRE(end.size() >= 3);
  CHECK(end[end.size() - 2] == "all-gather persistent parameters");
  // two units at most, and 6 elements padded to 8
  CHECK(fsdp.strategy.holding().gathered == Bytes{2 * (40 + 8)});
}

TEST_CASE("stage 3 reduces when a gradient would overflow reduce_bucket_size, and behind backward",
          "[fsdp][deepspeed]") {
  // stage3.py, reduce_independent_p_g_buckets_and_remove_grads: 40 + 40 fit in 80, a third does not
  FsdpOptions options = stage_three({.most = 1000, .reuse = 1000});
  options.reduce_bucket_size = 80;
  Driver fsdp{{options, layers()}};
  fsdp.begin(0, 0);
  const auto prepared = [&](const Event& event) {
    return std::ranges::count(fsdp.on(event), std::string("gradients ready"));
  };
  CHECK(prepared(HookFired{.tensor = 3}) == 0);
  CHECK(prepared(HookFired{.tensor = 2}) == 0);
  CHECK(prepared(HookFired{.tensor = 1}) == 2);
  CHECK(prepared(HookFired{.tensor = 0}) == 0);
  CHECK(prepared(BackwardDone{}) == 2);
}
