#include "strategies/all_reduce/mg_wfbp.hpp"

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

HorovodOptions free_horovod() {
  HorovodOptions options;
  options.version = {0, 19};
  options.fusion_threshold = Bytes{0};
  options.cycle_time = Seconds{0};
  options.cache_capacity = 0;
  options.request_time = Seconds{0};
  options.local_latency = Seconds{0};
  return options;
}

}  // namespace

TEST_CASE("the last member's hook hands the merged buffer to Horovod", "[mg_wfbp]") {
  MergedHorovod merged(free_horovod(), toy_job({10, 20, 30}), {{2, 1}, {0}});
  const auto first = merged.on_event(Seconds{}, HookFired{.tensor = 2});
  REQUIRE(first.size() == 2);  // 0 Python, 1 copy
  CHECK(std::get<DeviceWork>(first[1]).traffic == Bytes{2 * 30 * 4});
  CHECK(std::get<DeviceWork>(first[1]).stream == DeviceStream::compute);
  const auto second = merged.on_event(Seconds{}, HookFired{.tensor = 1});
  REQUIRE(second.size() == 4);  // 2 Python, 3 copy, 4 marker, 5 negotiation
  merged.on_event(Seconds{}, OperationDone{5});
  // Up to 0.22 the thread waits for the gradients before it posts.
  CHECK(collective_sizes(merged.on_event(Seconds{}, OperationDone{4})) ==
        std::vector<std::int64_t>{(20 + 30) * 4});  // 6
}

TEST_CASE("groups of one tensor each are not copied", "[mg_wfbp]") {
  MergedHorovod merged(free_horovod(), toy_job({10, 20}), {{1}, {0}});
  const auto hook = merged.on_event(Seconds{}, HookFired{.tensor = 1});
  REQUIRE(hook.size() == 3);  // Python, marker, negotiation
  CHECK(std::get<DeviceWork>(hook[1]).kernels == 0);
}

TEST_CASE("the optimizer waits for all groups, in the next iteration too", "[mg_wfbp]") {
  MergedHorovod merged(free_horovod(), toy_job({10}), {{0}});
  OperationId next = 0;
  for (int iteration = 0; iteration < 2; ++iteration) {
    merged.on_event(Seconds{}, HookFired{.tensor = 0});  // Python, marker, negotiation
    const OperationId marker = next + 1;
    const OperationId negotiation = next + 2;
    const auto step = merged.on_event(Seconds{}, BackwardDone{});  // flag, gate
    const OperationId flag = next + 3;
    CHECK(std::get<Gate>(step[1]).until == std::vector<OperationId>{flag});
    merged.on_event(Seconds{}, OperationDone{negotiation});
    merged.on_event(Seconds{}, OperationDone{marker});    // next + 5: all-reduce
    merged.on_event(Seconds{}, OperationDone{next + 5});  // next + 6: average
    const auto end = merged.on_event(Seconds{}, OperationDone{next + 6});
    REQUIRE(end.size() == 1);
    CHECK(std::get<Raise>(end[0]).flag == flag);
    next += 8;
  }
}

TEST_CASE("tabled alpha and beta are ddl-benchmarks' by workers", "[mg_wfbp]") {
  const auto cost = tabled_cost(CostSource::eth_10g, 32);
  REQUIRE(cost);
  CHECK(cost->alpha.count() == Approx(4.0429e-3).epsilon(1e-4));
  CHECK_FALSE(tabled_cost(CostSource::infiniband, 48));
  MgWfbpOptions options;
  options.source = CostSource::eth_10g;
  auto job = toy_job({10});
  job.world_size = 24;
  CHECK_THROWS_AS(merged_groups(options, job), SimulationError);
}

TEST_CASE("the search is the rule's alternative under the same cost", "[mg_wfbp]") {
  auto job = toy_job({100'000, 100'000, 100'000});
  job.layers = {{{}, Seconds{1e-3}}, {{}, Seconds{1e-3}}, {{}, Seconds{1e-3}}};
  MgWfbpOptions options;
  // 4 ms for each: the second cannot start before 5 ms, when the third is there, so it waits for
  // it.
  options.cost = LinearCost{Seconds{0}, Seconds{1e-8}};
  CHECK(merged_groups(options, job) == std::vector<std::vector<TensorId>>{{2}, {1, 0}});
  options.optimal = true;  // a tie without a start-up: the largest last group
  const auto groups = merged_groups(options, job);
  CHECK(groups.back().back() == 0);
  options.cost = LinearCost{Seconds{1}, Seconds{1e-8}};  // a start-up above all: one group
  CHECK(merged_groups(options, job).size() == 1);
}

TEST_CASE("the table by network is InfiniBand's above 10 Gbit/s", "[mg_wfbp]") {
  // Gradients of 4 MB come at 1.5, 3 and 4.5 ms. On 8 workers an all-reduce of one takes by 10
  // GbE's table 0.52 + 3.43 ms: the second has not started when the third comes, and they are
  // merged. By InfiniBand's it takes 0.10 + 1.22 ms and is over before the next gradient comes.
  auto job = toy_job({1'000'000, 1'000'000, 1'000'000});
  job.world_size = 8;
  job.layers.assign(3, {Seconds{}, Seconds{1.5e-3}});
  MgWfbpOptions options;
  options.source = CostSource::by_network;
  job.network_bandwidth = BytesPerSecond{9.415e9 / 8};
  const auto slow = merged_groups(options, job);
  options.source = CostSource::eth_10g;
  CHECK(slow == merged_groups(options, job));
  options.source = CostSource::by_network;
  job.network_bandwidth = BytesPerSecond{2.3e9};  // TCP over InfiniBand
  const auto fast = merged_groups(options, job);
  options.source = CostSource::infiniband;
  CHECK(fast == merged_groups(options, job));
  CHECK(fast != slow);
}
