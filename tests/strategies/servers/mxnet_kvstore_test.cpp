#include "strategies/servers/mxnet_kvstore.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Texts = std::vector<std::string>;

/// Two machines of two GPUs, a server on each of machines 2 and 3.
JobView two_machines(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 1, 1}, elements, {2, 3});
}

/// Four GPUs.
JobView one_machine(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 0, 0}, elements);
}

KvStoreOptions store(const std::string& kind) {
  KvStoreOptions options;
  options.kv_store = kind;
  return options;
}

Texts notes(const std::string& kind, const JobView& job) {
  Texts notes;
  for (const auto& group : MxnetKvStore(store(kind), job).plan(0)) notes.push_back(group.note);
  return notes;
}

/// What an iteration posts, without the names of tensors and sizes.
Texts stages(const std::string& kind, const JobView& job) {
  MxnetKvStore strategy(store(kind), job);
  ToyLoop loop(strategy);
  Texts words;
  for (const auto& text : loop.iterate(job, 0)) words.push_back(text.substr(0, text.find(" t0")));
  return words;
}

}  // namespace

TEST_CASE("a key of a million elements is split over all servers, smaller ones go by their number",
          "[mxnet_kvstore]") {
  // 9973 is odd: of two servers key k has k mod 2.
  CHECK(notes("dist_sync", two_machines({1'000'000, 999'999, 30})) ==
        Texts{"server 0", "server 1", "2 servers"});
}

TEST_CASE("shards of a big key are even and carry all of it", "[mxnet_kvstore]") {
  Poster poster;
  const KvStore kv(poster, store("dist_sync"), two_machines({30}), true);
  const auto shards = kv.shards_of(1'000'001, 0);
  REQUIRE(shards.size() == 2);
  CHECK(shards[0].size == Bytes{4 * 500'001});
  CHECK(shards[1].size == Bytes{4 * 500'000});
}

TEST_CASE("a machine sums its GPUs once, and pushes each shard to its server", "[mxnet_kvstore]") {
  CHECK(stages("dist_sync", two_machines({1'000'000})) ==
        Texts{"flag", "ready", "COPYD2H", "host 0 LOCAL SUM", "PUSH", "PUSH", "host 1 SUM",
              "host -2 acknowledge, request", "host 3 SUM", "host -2 acknowledge, request", "PULL",
              "PULL", "COPYH2D", "raise 0"});
  CHECK(stages("dist_device_sync", two_machines({30})) ==
        Texts{"flag", "ready", "REDUCE", "COPYD2H", "PUSH", "host 1 SUM",
              "host -2 acknowledge, request", "PULL", "COPYH2D", "BROADCAST", "raise 0"});
}

TEST_CASE("a machine of its own sums and updates on its CPU, or on its GPUs", "[mxnet_kvstore]") {
  CHECK(stages("local", one_machine({30})) == Texts{"flag", "ready", "COPYD2H", "host 0 LOCAL SUM",
                                                    "host 1 UPDATE", "COPYH2D", "raise 0"});
  CHECK(stages("device", one_machine({30})) ==
        Texts{"flag", "ready", "GATHER", "SUM", "BROADCAST", "raise 0"});
}

TEST_CASE("a parameter of more than 16 Mi elements takes the optimizer off a local store",
          "[mxnet_kvstore]") {
  CHECK(stages("local", one_machine({(std::int64_t{16} << 20) + 1})) ==
        Texts{"flag", "ready", "COPYD2H", "host 0 LOCAL SUM", "COPYH2D", "raise 0"});
}

TEST_CASE("a device store deals keys to GPUs by their size", "[mxnet_kvstore]") {
  // 90 to GPU 3, 50 to 2, 40 to 1, 30 to 0, where 20 follows.
  CHECK(notes("device", one_machine({20, 30, 40, 50, 90})) ==
        Texts{"GPU 3", "GPU 2", "GPU 1", "GPU 0", "GPU 0"});
}

TEST_CASE("four threads sum a machine's GPUs from the bound on, else one", "[mxnet_kvstore]") {
  const JobView job = one_machine({30});
  KvStoreOptions options;
  options.sum_rate = BytesPerSecond{4e9};
  // Two arrays of 4 MB, or one element less each.
  CHECK(local_sum_time(options, job, 2, Bytes{4'000'000}).count() == Approx(2e-3 / 4));
  CHECK(local_sum_time(options, job, 2, Bytes{3'999'996}).count() == Approx(2e-3));
}

TEST_CASE("stores of one machine refuse several, and one GPU needs none", "[mxnet_kvstore]") {
  CHECK_THROWS_WITH(MxnetKvStore(store("local"), two_machines({30})),
                    "kv_store local is of one machine, the ranks are on 2; expected dist_sync or "
                    "dist_device_sync");
  JobView alone = one_machine({30});
  alone.world_size = 1;
  alone.machine_of = {0};
  CHECK_FALSE(MxnetKvStore(store("device"), alone).traits().own_optimizer);
  CHECK(MxnetKvStore(store("dist_sync"), alone).traits().own_optimizer);
}
