#include "strategies/sharded/host_offload.hpp"

#include "strategies/sharded/deepspeed_zero.hpp"
#include "strategies/sharded/fsdp.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

template <class S>
struct Driver {
  S strategy;
  Operations operations_on(const Event& event) { return strategy.on_event(Seconds{}, event); }
  Words on(const Event& event) { return describe(operations_on(event)); }
};

constexpr HostOffloadOptions pinned{.what = Offload::optimizer};

/// 60 elements in two bytes on 4 ranks of a machine.
JobView half_job(int micro_batches = 1) {
  JobView job = toy_job({10, 20, 30}, micro_batches);
  job.element_size = 2;
  return job;
}

DeepSpeedOptions offloading(const HostOffloadOptions& offload = pinned) {
  // each share is reduced to its rank, so that no kernel puts them together
  return {.stage = 2, .use_multi_rank_bucket_allreduce = false, .offload = offload};
}

Bytes size_of(const Operation& operation) {
  return std::get<Messages>(operation).size;
}

}  // namespace

TEST_CASE("ZeRO-Offload copies a partition's gradients, steps on the host and copies it back",
          "[deepspeed][offload]") {
  Driver<DeepSpeedZero> zero{{offloading(), half_job()}};
  for (const TensorId tensor : {2, 1, 0}) zero.on(HookFired{.tensor = tensor});  // 0 to 2
  // compute waits for gradients on the host (4), then for updated parameters on the GPU (7)
  CHECK(zero.on(BackwardDone{}) ==
        Words{"divide", "flag: gradients on host", "reduce-scatter bucket", "gate 4",
              "flag: updated", "gradients on host", "gate 7", "all-gather partitions", "gate 10"});
  const Operations out = zero.operations_on(OperationDone{5});
  CHECK(describe(out) == Words{"gradients to host"});  // 12
  CHECK(size_of(out[0]) == Bytes{15 * 4});             // a quarter, in fp32
  CHECK(zero.on(OperationDone{12}) == Words{"raise 4"});
  CHECK(zero.on(OperationDone{8}) == Words{"optimizer on host"});  // 14
  const Operations back = zero.operations_on(OperationDone{14});
  CHECK(describe(back) == Words{"parameters to GPU"});
  CHECK(size_of(back[0]) == Bytes{15 * 2});
  CHECK(zero.on(OperationDone{15}) == Words{"raise 7"});
}

TEST_CASE("ZeRO-Offload copies its share of what a bucket's all-reduce leaves on each GPU",
          "[deepspeed][offload]") {
  // as it comes since 2024 (use_multi_rank_bucket_allreduce): the shares are put together first
  Driver<DeepSpeedZero> zero{{{.stage = 2, .offload = pinned}, half_job()}};
  for (const TensorId tensor : {2, 1, 0}) zero.on(HookFired{.tensor = tensor});  // 0 to 2
  CHECK(zero.on(BackwardDone{}) ==
        Words{"divide", "concatenate", "flag: gradients on host", "all-reduce bucket", "gate 5",
              "flag: updated", "gradients on host", "gate 8", "all-gather partitions", "gate 11"});
  const Operations out = zero.operations_on(OperationDone{6});
  CHECK(describe(out) == Words{"gradients to host"});
  CHECK(size_of(out[0]) == Bytes{15 * 4});  // a quarter, in fp32
}

TEST_CASE("ZeRO-Offload brings accumulated gradients to the GPU to be added to",
          "[deepspeed][offload]") {
  Driver<DeepSpeedZero> zero{{offloading(), half_job(3)}};
  // sizes of the copies that follow a micro-batch's reduction
  const auto copies = [&](int micro_batch) {
    zero.on(HookFired{.tensor = 2, .micro_batch = micro_batch});
    const Operations posted = zero.operations_on(BackwardDone{.micro_batch = micro_batch});
    static OperationId next = 0;
    const OperationId first = ++next;  // behind the copy into the bucket
    next += static_cast<OperationId>(posted.size());
    Words words;
    Operations out = zero.operations_on(OperationDone{first + 2});
    while (std::holds_alternative<Messages>(out.front())) {
      words.push_back(describe(out.front()) + fmt::format(" {}", size_of(out.front()).count()));
      out = zero.operations_on(OperationDone{next++});
    }
    ++next;  // the flag is raised
    return words;
  };
  // 30 elements padded to 32: 8 of a rank, in two bytes, the sum in four
  CHECK(copies(0) == Words{"gradients to host 16"});
  CHECK(copies(1) == Words{"accumulated gradients to GPU 16", "gradients to host 16"});
  CHECK(copies(2) == Words{"accumulated gradients to GPU 16", "gradients to host 32"});
}

TEST_CASE("copies of pageable memory are staged by the host beside them, and compute waits",
          "[deepspeed][offload]") {
  HostOffloadOptions pageable = pinned;
  pageable.pinned = false;
  pageable.memory_rate = BytesPerSecond{4e12};  // staging is bound by the driver's rate
  DeepSpeedOptions options = offloading(pageable);
  options.overlap_comm = true;
  options.reduce_bucket_size = 30;
  Driver<DeepSpeedZero> zero{{options, half_job()}};
  zero.on(HookFired{.tensor = 2});
  // without pageable memory overlap_comm would not wait here
  CHECK(zero.on(HookFired{.tensor = 1}) == Words{"divide", "flag: gradients on host",
                                                 "reduce-scatter bucket", "gate 2",
                                                 "copy into bucket"});
  const Operations out = zero.operations_on(OperationDone{3});
  CHECK(describe(out) == Words{"stage", "gradients to host"});
  CHECK(std::get<HostWork>(out[0]).time.count() == Approx(8 * 4 / 10.5e9));
}

TEST_CASE("the host's step is bound by memory that ranks share, or by a rank's threads",
          "[offload]") {
  JobView job = toy_job({10});
  job.host_memory_rate = BytesPerSecond{400e9};
  Poster poster;
  const auto seconds = [&](const HostOffloadOptions& options) {
    return HostOffload(options, job, poster).step_time(1'000'000'000).count();
  };
  HostOffloadOptions options = pinned;
  // four ranks with as many threads as there are cores reach 75.6 of 409.6 together
  CHECK(seconds(options) == Approx(4 * 28e9 / (400e9 * 75.6 / 409.6)));
  options.bound = true;
  CHECK(seconds(options) == Approx(4 * 28e9 / (400e9 * 109 / 256)));
  options.threads = 1;
  CHECK(seconds(options) == Approx(28e9 / 25.7e9));
  options.threads = 8;
  CHECK(seconds(options) == Approx(4 * 28e9 / (400e9 * 109 / 256)));
  // on two machines of two ranks the share doubles; the knob goes before the node
  job.machine_of = {0, 0, 1, 1};
  options.memory_rate = BytesPerSecond{100e9};
  CHECK(seconds(options) == Approx(2 * 28e9 / (100e9 * 109 / 256)));
}

TEST_CASE("the host's step is the profile's optimizer's, and so is what it keeps", "[offload]") {
  JobView job = toy_job({10});
  Poster poster;
  const auto step = [&](HostOptimizer optimizer) {
    HostOffloadOptions options = pinned;
    options.optimizer = optimizer;
    return HostOffload(options, job, poster).step_time(1'000'000'000).count();
  };
  const double adam = step(HostOptimizer::torch_fused);  // 28 bytes
  CHECK(step(HostOptimizer::deepspeed) == Approx(adam));
  CHECK(step(HostOptimizer::torch) == Approx(7 * adam));  // measured
  // momentum: gradient, weight and momentum read, the latter two written; DeepSpeed has no kernel
  job.host_step = {.bytes = 44, .fused_bytes = 20, .state_bytes = 4, .deepspeed = false};
  CHECK(step(HostOptimizer::torch_fused) == Approx(adam * 5 / 7));
  CHECK(step(HostOptimizer::torch) == Approx(7 * adam * 44 / 72));
  CHECK(step(HostOptimizer::deepspeed) == Approx(step(HostOptimizer::torch)));
  // weight, gradient, momentum in fp32
  Holding held;
  HostOffload(pinned, job, poster).move(held, 10);
  CHECK(held.host == Bytes{10 * 12});
}

TEST_CASE("FSDP with parameters in host memory copies shards before it gathers them",
          "[fsdp][offload]") {
  FsdpOptions options;
  options.wrap = WrapPolicy::size_based;
  options.unit_size = Bytes{4};
  options.param_bytes = options.reduce_bytes = 2;
  options.offload.what = Offload::parameters;
  Driver<Fsdp> fsdp{{options, toy_job({40})}};
  fsdp.on(IterationStart{});
  CHECK(fsdp.on(ForwardStart{.layer = 0}) == Words{"ready", "flag: unit 0 gathered", "gate 1"});
  const Operations fetch = fsdp.operations_on(OperationDone{0});
  CHECK(describe(fetch) == Words{"parameters to GPU"});  // 3
  CHECK(size_of(fetch[0]) == Bytes{10 * 4});             // fp32, cast on the GPU
  CHECK(fsdp.on(OperationDone{3}) == Words{"~cast shard"});
  CHECK(fsdp.on(OperationDone{4}) == Words{"all-gather unit 0"});
  CHECK(fsdp.strategy.exchanges().size() == 2);
}

TEST_CASE("what lies in host memory is no more on the GPU", "[offload]") {
  // stage 2: weights, a bucket; the host has 16 bytes of each of 15 elements
  const Holding two = DeepSpeedZero(offloading(), half_job()).holding();
  CHECK(two.weights == 1);
  CHECK(two.gradients == 0);
  CHECK(two.optimizer == 0);
  CHECK(two.host == Bytes{15 * 16});
  // stage 1 keeps whole gradients on the GPU
  DeepSpeedOptions one = offloading();
  one.stage = 1;
  CHECK(DeepSpeedZero(one, half_job()).holding().gradients == 1);
  // parameters, too: a model of two bytes beside those in fp32
  FsdpOptions all;
  all.param_bytes = all.reduce_bytes = all.stored_bytes = 2;
  all.offload = {.what = Offload::parameters, .parameter_bytes = 2};
  const Holding three = Fsdp(all, toy_job({60})).holding();
  CHECK(three.weights == 0);
  CHECK(three.host == Bytes{15 * 18});
  CHECK(three.gathered == Bytes{60 * 2});
}
