#include "strategies/all_reduce/ddp.hpp"
#include "strategies/sharded/fsdp.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Four ranks; a root of 8 elements, three blocks of 4, 12 and 8.
JobView blocks() {
  auto job = toy_job({8, 4, 12, 8});
  for (std::size_t i = 1; i < job.tensors.size(); ++i) {
    job.tensors[i].name = "h." + std::to_string(i) + ".weight";
  }
  return job;
}

FsdpOptions sharding(Sharding kind) {
  FsdpOptions options;
  options.sharding = kind;
  return options;
}

}  // namespace

TEST_CASE("Full shards hold a quarter, the root and the two largest units", "[fsdp]") {
  FsdpOptions options = sharding(Sharding::full_shard);
  options.param_bytes = 2;
  const Holding held = Fsdp(options, blocks()).holding();
  CHECK(held.weights == 0.25);
  CHECK(held.gradients == 0.25);
  CHECK(held.optimizer == 0.25);
  CHECK(held.gathered == Bytes{2 * (8 + 12 + 8)});
  CHECK(held.buffers == Bytes{4 * 12});
  options.limit_all_gathers = false;
  CHECK(Fsdp(options, blocks()).holding().gathered == Bytes{2 * (8 + 12 + 8 + 4)});
}

TEST_CASE("ZeRO-2 keeps what it gathers, ZeRO-1 shards the optimizer alone", "[fsdp]") {
  const Holding two = Fsdp(sharding(Sharding::shard_grad_op), blocks()).holding();
  CHECK(two.weights == 0.25);
  CHECK(two.gathered == Bytes{4 * 32});
  const Holding one = Fsdp(sharding(Sharding::optimizer), blocks()).holding();
  CHECK(one.weights == 1);
  CHECK(one.gradients == 1);
  CHECK(one.optimizer == 0.25);
  CHECK(Fsdp(sharding(Sharding::none), blocks()).holding().optimizer == 1);
}

TEST_CASE("DDP's buckets are beside the gradients unless those are views of them", "[ddp]") {
  DdpOptions options;
  const Holding copies = Ddp(options, blocks()).holding();
  CHECK(copies.gradients == 1);
  CHECK(copies.buffers == Bytes{4 * 32});
  options.gradient_as_bucket_view = true;
  const Holding views = Ddp(options, blocks()).holding();
  CHECK(views.gradients == 0);
  CHECK(views.buffers == Bytes{4 * 32});
  options.optimizer = DdpOptimizer::zero_redundancy;
  CHECK(Ddp(options, blocks()).holding().optimizer == 0.25);
}
