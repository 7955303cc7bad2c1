#include "strategies/all_reduce/apex_ddp.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

int kernels_of(const Operation& operation) {
  const auto* work = std::get_if<DeviceWork>(&operation);
  return work == nullptr ? -1 : work->kernels;
}

}  // namespace

TEST_CASE("Apex closes a bucket at message_size elements, in the order of arrival", "[apex_ddp]") {
  // Arrival 5, 4, 3, 2, 1 elements; at least 6 a bucket: 5 + 4 | 3 + 2 + 1.
  const ApexDdp ddp({.message_size = 6}, toy_job({1, 2, 3, 4, 5}));
  const auto plan = ddp.plan(1);
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].tensors == std::vector<TensorId>{4, 3});
  CHECK(plan[1].elements == 6);
  CHECK(ddp.plan(0).size() == 1);
  CHECK(ApexDdp({.message_size = 6, .delay_allreduce = true}, toy_job({1, 2, 3, 4, 5}))
            .plan(7)
            .size() == 1);
}

TEST_CASE("Apex's first backward pass ends in the bucket structure and one flat all-reduce",
          "[apex_ddp]") {
  ApexDdp ddp({.message_size = 6}, toy_job({1, 2, 3, 4, 5}));
  ddp.on_event(Seconds{}, IterationStart{0});
  CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 4}).empty());
  // The number of buckets (2), their sizes and 5 parameters are integers: 1 + 2 + 5. 15 gradients.
  CHECK(collective_sizes(ddp.on_event(Seconds{}, BackwardDone{})) ==
        std::vector<std::int64_t>{8 * 4, 15 * 4});
}

TEST_CASE("Apex flattens behind the gradients, then reduces and copies back beside them",
          "[apex_ddp]") {
  ApexDdp ddp({.message_size = 1}, toy_job({10, 20}));
  ddp.on_event(Seconds{}, IterationStart{1});
  const auto flat = ddp.on_event(Seconds{}, HookFired{.tensor = 1});  // 0
  REQUIRE(flat.size() == 1);
  CHECK(std::get<DeviceWork>(flat[0]).stream == DeviceStream::compute);
  CHECK(std::get<DeviceWork>(flat[0]).traffic == Bytes{2 * 80});
  const auto reduce = ddp.on_event(Seconds{}, OperationDone{0});  // 1
  CHECK(collective_sizes(reduce) == std::vector<std::int64_t>{80});
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});                // 2
  CHECK(ddp.on_event(Seconds{}, OperationDone{2}).empty());       // the stream is taken
  const auto copies = ddp.on_event(Seconds{}, OperationDone{1});  // 3: divide, copy back
  REQUIRE(copies.size() == 1);
  CHECK(kernels_of(copies[0]) == 2);
  CHECK(std::get<DeviceWork>(copies[0]).stream == DeviceStream::side);
  const auto next = ddp.on_event(Seconds{}, OperationDone{3});  // 4: the other bucket
  CHECK(collective_sizes(next) == std::vector<std::int64_t>{40});
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});  // 5 flag, 6 gate
  REQUIRE(end.size() == 2);
  CHECK(std::get<Gate>(end[1]).until == std::vector<OperationId>{5});
  ddp.on_event(Seconds{}, OperationDone{4});  // 7
  const auto raised = ddp.on_event(Seconds{}, OperationDone{7});
  REQUIRE(raised.size() == 1);
  CHECK(std::get<Raise>(raised[0]).flag == 5);
}

TEST_CASE("Apex's streams take buckets in turns", "[apex_ddp]") {
  ApexDdp ddp({.message_size = 1, .num_allreduce_streams = 2}, toy_job({10, 20}));
  ddp.on_event(Seconds{}, IterationStart{1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  CHECK(std::get<Collective>(ddp.on_event(Seconds{}, OperationDone{0}).at(0)).stream == 1);
  CHECK(std::get<Collective>(ddp.on_event(Seconds{}, OperationDone{1}).at(0)).stream == 2);
}

TEST_CASE("Apex's knobs add and take kernels", "[apex_ddp]") {
  auto job = toy_job({10});
  job.element_size = 2;
  // Cast of 20 bytes to 40, division before; average, cast back; buffers are the gradients.
  ApexDdp ddp({.message_size = 1,
               .retain_allreduce_buffers = true,
               .allreduce_always_fp32 = true,
               .gradient_predivide_factor = 4},
              job);
  ddp.on_event(Seconds{}, IterationStart{1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});                // 0
  const auto before = ddp.on_event(Seconds{}, OperationDone{0});  // 1
  CHECK(kernels_of(before.at(0)) == 2);
  CHECK(std::get<DeviceWork>(before.at(0)).traffic == Bytes{20 + 40 + 2 * 40});
  CHECK(collective_sizes(ddp.on_event(Seconds{}, OperationDone{1})) ==
        std::vector<std::int64_t>{40});
  const auto after = ddp.on_event(Seconds{}, OperationDone{2});
  CHECK(std::get<DeviceWork>(after.at(0)).traffic == Bytes{2 * 40 + 40 + 20});
}
