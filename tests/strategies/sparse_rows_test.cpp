#include "strategies/all_reduce/autodist_all_reduce.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/tf_collective_all_reduce.hpp"
#include "strategies/horovod/horovod.hpp"
#include "strategies/servers/tictac.hpp"
#include "strategies/servers/variable_groups.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

// A table of 1000 rows of 4 and a vector of 10, on four ranks. A rank's gradient has 50 rows: 800 B
// of fp32 and 400 B of int64; all ranks' 3200 B and 1600 B.

using namespace gradwire;
using namespace gradwire::test;

namespace {

JobView with_table(JobView job) {
  job.tensors[0].shape = {1000, 4};
  job.tensors[0].sparse_rows = 50;
  return job;
}

/// The table is tensor 0, whose gradient is the last one.
JobView table_job() {
  return with_table(toy_job_on({0, 0, 1, 1}, {4000, 10}, {0, 1}));
}

std::vector<Collective> collectives_of(const Operations& operations) {
  std::vector<Collective> found;
  for (const auto& operation : operations) {
    if (const auto* one = std::get_if<Collective>(&operation)) found.push_back(*one);
  }
  return found;
}

void check_gathers(const std::vector<Collective>& found) {
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == CollectiveKind::all_gather);
  CHECK(found[0].size == Bytes{1600});
  CHECK(found[1].kind == CollectiveKind::all_gather);
  CHECK(found[1].size == Bytes{3200});
}

}  // namespace

TEST_CASE("a step's micro-batches add their rows, at most all of the table's", "[sparse]") {
  JobView job = table_job();
  CHECK(job.size_exchanged(job.tensor(0)) == Bytes{1200});
  CHECK(job.size_exchanged(job.tensor(1)) == Bytes{40});
  job.micro_batches = 3;
  CHECK(job.sparse_rows(job.tensor(0)) == 150);
  job.micro_batches = 21;
  CHECK(job.sparse_rows(job.tensor(0)) == 1000);
}

TEST_CASE("Horovod gathers rows and indices, or makes them dense", "[sparse][horovod]") {
  HorovodOptimizerOptions options;
  const auto size_of_table = [&options] {
    const Horovod horovod(options, table_job());
    std::int64_t size = 0;
    for (const auto& group : horovod.plan(0)) {
      if (group.tensors.back() == 0) size += group.size.count();
    }
    return size;
  };
  CHECK(size_of_table() == 1600 + 3200);
  options.sparse_as_dense = true;
  CHECK(size_of_table() >= 16'000);
}

TEST_CASE("DDP over Gloo gives a sparse gradient a bucket of its own", "[sparse][ddp]") {
  // Registered before the vector, it comes behind it; the vector's bucket, not full, closes last.
  JobView job = table_job();
  const auto buckets = assign_buckets(job, {1, 0}, {Bytes{1 << 20}});
  CHECK(buckets.size() == 1);  // NCCL reduces no sparse tensor
  job.collectives_on_gpu = false;
  const auto own = assign_buckets(job, {1, 0}, {Bytes{1 << 20}});
  REQUIRE(own.size() == 2);
  CHECK(own[0].tensors == std::vector<TensorId>{0});
  CHECK(own[0].size == Bytes{1200});
  CHECK(own[1].tensors == std::vector<TensorId>{1});

  Ddp ddp({.version = {1, 7}, .broadcast_buffers = false}, job);
  ddp.on_event(Seconds{}, IterationStart{.iteration = 1});
  CHECK(collectives_of(ddp.on_event(Seconds{}, HookFired{.tensor = 1})).empty());
  auto found = collectives_of(ddp.on_event(Seconds{}, HookFired{.tensor = 0}));
  REQUIRE(found.size() == 3);
  CHECK(found[2].size == Bytes{40});
  found.pop_back();
  check_gathers(found);
  CHECK(ddp.traits().exchanges_rows);
}

TEST_CASE("AutoDist's AllReduce gathers a sparse gradient outside its groups",
          "[sparse][autodist]") {
  AutodistAllReduce strategy({}, table_job());
  const auto dense = collectives_of(strategy.on_event(Seconds{}, HookFired{.tensor = 1}));
  REQUIRE(dense.size() == 1);
  CHECK(dense[0].size == Bytes{40});
  check_gathers(collectives_of(strategy.on_event(Seconds{}, HookFired{.tensor = 0})));
  const auto done = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(done.size() == 2);  // the gate, and the mean of the one group
  CHECK(std::get<Gate>(done[0]).until == std::vector<OperationId>{0, 1, 2});
}

TEST_CASE("TensorFlow's collectives gather sparse gradients behind the packs",
          "[sparse][tensorflow]") {
  TfCollectiveAllReduce strategy({.nccl = true}, table_job());
  REQUIRE(strategy.plan(0).size() == 2);
  CHECK(strategy.plan(0)[1].size == Bytes{1200});
  CHECK(collectives_of(strategy.on_event(Seconds{}, HookFired{.tensor = 1})).size() == 1);
  check_gathers(collectives_of(strategy.on_event(Seconds{}, HookFired{.tensor = 0})));
  CHECK(strategy.collectives().size() == 2);
  const TfCollectiveAllReduce nothing({.nccl = true}, toy_job_on({0, 1}, {}));
  CHECK(nothing.collectives().size() == 1);
}

TEST_CASE("a ring's gather passes every part on once", "[sparse][tensorflow]") {
  Poster poster;
  TfRing ring({}, toy_job_on({0, 0, 0, 0}, {10}), {Bytes{3200}}, poster);
  ring.gather(Bytes{3200}, {0}, [] {});
  const auto posted = poster.take();
  REQUIRE(posted.size() == 1);
  CHECK(std::get<Messages>(posted[0]).size == Bytes{3 * 800});  // three of the ranks' four parts
}

TEST_CASE("servers get and give the rows of a variable, by its place as a whole",
          "[sparse][servers]") {
  const JobView job = table_job();
  ParameterServerOptions options;
  options.placement = VariablePlacement::by_load;
  const auto groups = variable_groups(job, 2, options);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].tensors == std::vector<TensorId>{1});
  CHECK(groups[0].server == 1);  // the table's 16 kB lie on 0, however few are touched
  CHECK(groups[1].size == Bytes{1200});

  options.placement = VariablePlacement::partitioned;
  for (const VariableGroup& group : variable_groups(job, 2, options)) {
    if (group.tensors.front() == 0) CHECK(group.size == Bytes{600});
  }
}
