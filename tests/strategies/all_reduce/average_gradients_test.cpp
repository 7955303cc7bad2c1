#include "strategies/all_reduce/average_gradients.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

JobView pytorch_job(const std::vector<std::int64_t>& elements, int micro_batches = 1) {
  JobView job = toy_job(elements, micro_batches);
  job.python_time = 1;
  return job;
}

}  // namespace

TEST_CASE("average_gradients reduces each gradient behind the one before it, after backward",
          "[average_gradients]") {
  AverageGradients average({}, pytorch_job({10, 20}));
  CHECK(average.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  CHECK(average.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  const auto done = average.on_event(Seconds{}, BackwardDone{});
  // of each: the call, the all-reduce, the wait of the compute stream for it, the division
  REQUIRE(done.size() == 2 * 4);
  CHECK(collective_sizes(done) == std::vector<std::int64_t>{10 * 4, 20 * 4});  // model.parameters()
  for (std::size_t tensor = 0; tensor < 2; ++tensor) {
    const std::size_t first = 4 * tensor;
    CHECK(std::get<HostWork>(done[first]).thread == HostWork::launcher);
    const auto& reduced = std::get<Collective>(done[first + 1]);
    CHECK(reduced.ready == Collective::Ready::behind_compute);
    CHECK(std::get<Gate>(done[first + 2]).until ==
          std::vector<OperationId>{static_cast<OperationId>(first + 1)});
    CHECK(std::get<DeviceWork>(done[first + 3]).traffic == 2 * reduced.size);  // read and written
  }
}

TEST_CASE("average_gradients reduces the gradients of a step's last micro-batch",
          "[average_gradients]") {
  AverageGradients average({}, pytorch_job({10}, 2));
  CHECK(average.on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  CHECK(collective_sizes(average.on_event(Seconds{}, BackwardDone{.micro_batch = 1})).size() == 1);
}

TEST_CASE("average_gradients flattened is one all-reduce and a copy of each gradient back",
          "[average_gradients]") {
  AverageGradients average({.flatten = true}, pytorch_job({10, 20}));
  const auto done = average.on_event(Seconds{}, BackwardDone{});
  CHECK(collective_sizes(done) == std::vector<std::int64_t>{(10 + 20) * 4});
  CHECK(std::get<DeviceWork>(done.back()).kernels == 2);
  CHECK(average.plan(0).size() == 1);
}

TEST_CASE("The calls of average_gradients take what Python takes on the job's hosts",
          "[average_gradients]") {
  JobView job = pytorch_job({10});
  job.python_time = 0.5;
  AverageGradients average({.call_time = Seconds{40e-6}}, job);
  const auto done = average.on_event(Seconds{}, BackwardDone{});
  CHECK(std::get<HostWork>(done.front()).time.count() == Approx(0.5 * 40e-6));
}
