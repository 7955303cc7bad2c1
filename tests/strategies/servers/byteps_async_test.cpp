#include "strategies/servers/byteps_async.hpp"

#include "sim/core/refusal.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Texts = std::vector<std::string>;

/// One tensor of 400 bytes on two machines of so many GPUs each; a server on a third.
JobView two_machines(int gpus) {
  JobView job = toy_job({100});
  job.world_size = 2 * gpus;
  for (int rank = 0; rank < job.world_size; ++rank) job.machine_of.push_back(rank / gpus);
  job.machines = 2;
  job.server_machine = {2};
  return job;
}

}  // namespace

TEST_CASE("asynchronous BytePS sends a machine's differences after its own steps",
          "[byteps][async]") {
  BytePsOptions options;
  options.sum_rate = core_sum_rate;
  BytePsAsync byteps(options, two_machines(2));
  ToyLoop loop(byteps);
  CHECK(loop.tell(IterationStart{.iteration = 0, .worker = 2}).empty());
  CHECK(loop.tell(HookFired{.tensor = 0, .worker = 2}).empty());
  CHECK(loop.tell(BackwardDone{.worker = 2}) == Texts{"keep weights", "update", "differences",
                                                      "flag all pulled", "differences ready",
                                                      "gate 3"});
  CHECK(loop.end_oldest().empty());  // GPU 3 of the machine is not there
  CHECK(loop.tell(BackwardDone{.worker = 3}).back() == "gate 9");
  // Six exchanges a machine: ring, copy out, copy in, ring, push, pull. Machine 0 does nothing.
  CHECK(loop.end_oldest() == Texts{"REDUCE t0 400 by 6"});
  CHECK(loop.end_oldest() == Texts{"COPYD2H t0 400 by 7"});
  CHECK(loop.end_oldest() == Texts{"PUSH t0 400 by 10"});
  // The handler adds, then acknowledges, and the pull is asked for.
  CHECK(loop.end_oldest().front() == "host 0 SUM t0");
  CHECK(loop.end_oldest("host 0").empty());
  CHECK(loop.end_oldest() == Texts{"host -2 acknowledge, request"});
  CHECK(loop.end_oldest() == Texts{"PULL t0 400 by 11"});
  CHECK(loop.end_oldest() == Texts{"COPYH2D t0 400 by 8"});
  CHECK(loop.end_oldest() == Texts{"BROADCAST t0 400 by 9"});
  CHECK(loop.end_oldest() == Texts{"raise 3", "raise 9"});
  CHECK(loop.quiet());
}

TEST_CASE("a GPU of a machine sends its part to the next one and to the host", "[byteps][async]") {
  const auto exchanges = BytePsAsync({}, two_machines(2)).exchanges();
  REQUIRE(exchanges.size() == 12);
  // NCCL's reduce-scatter sends (g - 1) / g of a vector, a copy 1 / g.
  const auto& ring = exchanges[6].phases.front();
  REQUIRE(ring.size() == 2);
  CHECK(ring[1].from == Endpoint{Endpoint::Place::gpu, 3});
  CHECK(ring[1].to == Endpoint{Endpoint::Place::gpu, 2});
  CHECK(ring[1].share == Approx(0.5));
  CHECK(exchanges[7].phases.front()[1].share == Approx(0.5));
  CHECK(exchanges[10].phases.front().front().share == Approx(1));
}

TEST_CASE("asynchronous BytePS reduces inside each PCIe switch", "[byteps][async]") {
  BytePsOptions options;
  options.pcie_switch_size = 2;
  options.sum_rate = BytesPerSecond{1e9};
  options.stage_time = Seconds{};
  BytePsAsync byteps(options, two_machines(4));
  const auto exchanges = byteps.exchanges();
  // Of machine 1: ring, copy out, copy in; the sum is at GPU 6's socket.
  const auto& ring = exchanges[6].phases.front();
  CHECK(ring[1].to == Endpoint{Endpoint::Place::gpu, 4});
  CHECK(ring[2].to == Endpoint{Endpoint::Place::gpu, 7});
  CHECK(ring[3].to == Endpoint{Endpoint::Place::gpu, 6});
  CHECK(ring[3].share == Approx(0.5));
  CHECK(exchanges[7].phases.front()[1].to == Endpoint{Endpoint::Place::host, 4});
  CHECK(exchanges[7].phases.front()[2].to == Endpoint{Endpoint::Place::host, 6});
  CHECK(exchanges[8].phases.front()[0].from == Endpoint{Endpoint::Place::host, 6});
  CHECK(exchanges[10].phases.front()[0].from == Endpoint{Endpoint::Place::host, 6});
  ToyLoop loop(byteps);
  for (int rank = 4; rank < 8; ++rank) loop.tell(BackwardDone{.worker = rank});
  loop.end_all();
  double added = 0;
  for (const auto& operation : loop.log()) {
    const auto* host = std::get_if<HostWork>(&operation);
    if (host != nullptr && host->label == "stage") added += host->time.count();
  }
  // Two ranks each add 200 bytes.
  CHECK(added == Approx(200 / 1e9));
}

TEST_CASE("staleness counts what others added between a machine's pull and its own addition",
          "[byteps][async]") {
  BytePsAsync byteps({}, two_machines(1));
  ToyLoop loop(byteps);
  for (int iteration = 0; iteration < 2; ++iteration) {
    loop.tell(BackwardDone{.worker = 1});
    loop.end_all();
  }
  CHECK(byteps.staleness() == Approx(0));
  // Machine 0 has pulled nothing since both: 2 missed. The mean of 0, 0, 2.
  loop.tell(BackwardDone{.worker = 0});
  loop.end_all();
  CHECK(*byteps.staleness() == Approx(2.0 / 3));
}

TEST_CASE("asynchronous BytePS refuses one machine, as its origin", "[byteps][async]") {
  CHECK_THROWS_AS(BytePsAsync({}, toy_job({100})), UnsupportedConfiguration);
}
