#include "strategies/all_reduce/ddp.hpp"

#include "strategies/compression/compressed.hpp"
#include "strategies/compression/half_precision.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Three tensors, each its own bucket: launch order is 0 = {t2}, 1 = {t1}, 2 = {t0}.
DdpOptions one_bucket_a_tensor() {
  return {.version = {1, 4}, .bucket_cap = Bytes{4}, .first_bucket_cap = Bytes{4}};
}

int kernels_in(const Operations& operations) {
  int count = 0;
  for (const auto& operation : operations) {
    if (const auto* work = std::get_if<DeviceWork>(&operation)) count += work->kernels;
  }
  return count;
}

}  // namespace

TEST_CASE("DDP launches buckets strictly in order", "[ddp]") {
  Ddp ddp(one_bucket_a_tensor(), toy_job({10, 20, 30}));
  ddp.on_event(Seconds{}, IterationStart{0});
  // t1 is ready before t2: its bucket has to wait.
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 1})).empty());
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 2})) ==
        std::vector<std::int64_t>{120, 80});
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 0})) ==
        std::vector<std::int64_t>{40});
}

TEST_CASE("until 1.6 no bucket goes before the gradient of a table that the decoder shares",
          "[ddp]") {
  auto job = toy_job({10, 20, 30});
  job.tensors[0].shared = true;  // again behind t2: buckets {t0 again}, {t2}, {t1}, {t0}
  Ddp ddp(one_bucket_a_tensor(), job);
  ddp.on_event(Seconds{}, IterationStart{0});
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 2})).empty());
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 1})).empty());
  const auto last = ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  CHECK(collective_sizes(last) == std::vector<std::int64_t>{40, 120, 80, 40});
  CHECK(kernels_in(last) == 2 * 2);  // copied and divided in both places
}

TEST_CASE("DDP waits for each bucket in turn and copies it back", "[ddp]") {
  Ddp ddp(one_bucket_a_tensor(), toy_job({10, 20}));
  ddp.on_event(Seconds{}, IterationStart{0});
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});  // operations 0 copy, 1 divide, 2 bucket 0
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});  // 3 copy, 4 divide, 5 bucket 1
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});
  REQUIRE(end.size() == 4);
  CHECK(std::get<Gate>(end[0]).until == std::vector<OperationId>{2});
  CHECK(std::get<DeviceWork>(end[1]).traffic == Bytes{2 * 80});
  CHECK(std::get<Gate>(end[2]).until == std::vector<OperationId>{5});
  CHECK(std::get<DeviceWork>(end[3]).traffic == Bytes{2 * 40});
}

TEST_CASE("gradients that are views of the bucket need no copies", "[ddp]") {
  auto options = one_bucket_a_tensor();
  options.version = {1, 7};
  options.gradient_as_bucket_view = true;
  Ddp ddp(options, toy_job({10}));
  ddp.on_event(Seconds{}, IterationStart{0});
  const auto hook = ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  CHECK(kernels_in(hook) == 1);  // the division only
  CHECK(kernels_in(ddp.on_event(Seconds{}, BackwardDone{})) == 0);
}

TEST_CASE("DDP divides a full bucket once before 1.6, each gradient in its copy from then on",
          "[ddp]") {
  DdpOptions options{.version = {1, 4}, .broadcast_buffers = false};  // one bucket of both tensors
  Ddp old(options, toy_job({10, 20}));
  old.on_event(Seconds{}, IterationStart{0});
  CHECK(kernels_in(old.on_event(Seconds{}, HookFired{.tensor = 1})) == 1);
  const auto full = old.on_event(Seconds{}, HookFired{.tensor = 0});
  REQUIRE(kernels_in(full) == 2);
  CHECK(std::get<DeviceWork>(full[1]).traffic == Bytes{2 * 30 * 4});

  options.version = {1, 7};
  Ddp fused(options, toy_job({10, 20}));
  fused.on_event(Seconds{}, IterationStart{0});
  CHECK(kernels_in(fused.on_event(Seconds{}, HookFired{.tensor = 1})) == 1);
  CHECK(kernels_in(fused.on_event(Seconds{}, HookFired{.tensor = 0})) == 1);
}

TEST_CASE("no_sync passes only accumulate", "[ddp]") {
  Ddp ddp(one_bucket_a_tensor(), toy_job({10}, 3));
  ddp.on_event(Seconds{}, IterationStart{0});
  for (const int micro : {0, 1}) {
    CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = micro}).empty());
    CHECK(ddp.on_event(Seconds{}, BackwardDone{.micro_batch = micro}).empty());
  }
  CHECK(collective_sizes(ddp.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 2})) ==
        std::vector<std::int64_t>{40});
}

TEST_CASE("unused parameters cost one more all-reduce of an int32 a parameter", "[ddp]") {
  auto options = one_bucket_a_tensor();
  options.find_unused_parameters = true;
  Ddp ddp(options, toy_job({10, 20}));
  ddp.on_event(Seconds{}, IterationStart{0});
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  CHECK(collective_sizes(ddp.on_event(Seconds{}, BackwardDone{})) ==
        std::vector<std::int64_t>{2 * 4});
}

TEST_CASE("buffers are broadcast before the forward pass, which waits", "[ddp]") {
  auto job = toy_job({10});
  // Two norms of 2 and 4 channels: mean and variance each, and a counter each.
  job.buffer_tensors = 2 * 3;
  job.buffer_elements = 2 * (2 + 4) + 2;
  Ddp ddp(one_bucket_a_tensor(), job);
  const auto start = ddp.on_event(Seconds{}, IterationStart{0});
  // Statistics as fp32 and counters as int64, each type flattened on its own.
  CHECK(collective_sizes(start) == std::vector<std::int64_t>{12 * 4, 2 * 8});
  REQUIRE(start.size() == 5);
  CHECK(std::get<Collective>(start[1]).kind == CollectiveKind::broadcast);
  CHECK(std::get<Gate>(start[3]).until == std::vector<OperationId>{1, 2});

  auto options = one_bucket_a_tensor();
  options.broadcast_buffers = false;
  CHECK(Ddp(options, job).on_event(Seconds{}, IterationStart{0}).empty());
}

TEST_CASE("buffers of another size than batch norms' are broadcast as they are", "[ddp]") {
  auto job = toy_job({10});
  // Two masks of 4 x 4 bool and two scalars of fp32, as GPT-2's layers have them.
  job.buffer_tensors = 2 + 2;
  job.buffer_elements = 2 * 16 + 2;
  job.buffer_bytes = Bytes{2 * 16 + 2 * 4};
  const auto sizes = [&] {
    return collective_sizes(Ddp(one_bucket_a_tensor(), job).on_event(Seconds{}, IterationStart{0}));
  };
  CHECK(sizes() == std::vector<std::int64_t>{40});
  // One norm of 2 channels: 4 statistics of fp32 and an int64 counter are still of two types.
  job.buffer_tensors = 3;
  job.buffer_elements = 4 + 1;
  job.buffer_bytes = Bytes{4 * 4 + 8};
  CHECK(sizes() == std::vector<std::int64_t>{16, 8});
}

TEST_CASE("the fp16 hook casts, divides, reduces half the bytes and casts back", "[ddp]") {
  auto options = one_bucket_a_tensor();
  options.comm_hook = true;
  Compressed ddp(std::make_unique<Ddp>(options, toy_job({10})), std::make_unique<HalfPrecision>(),
                 toy_job({10}), 1);
  ddp.on_event(Seconds{}, IterationStart{0});
  const auto hook = ddp.on_event(Seconds{}, HookFired{.tensor = 0});
  REQUIRE(hook.size() == 3);  // copy, compress, all-reduce
  CHECK(std::get<DeviceWork>(hook[1]).kind == WorkKind::encode);
  // Cast: 40 bytes read, 20 written; division in place: 20 read, 20 written.
  CHECK(std::get<DeviceWork>(hook[1]).traffic == Bytes{40 + 20 + 20 + 20});
  CHECK(collective_sizes(hook) == std::vector<std::int64_t>{20});
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});
  CHECK(std::get<DeviceWork>(end[1]).traffic == Bytes{20 + 40});
}
