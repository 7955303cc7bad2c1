#include "strategies/servers/byteps.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/servers/byteps_jobs.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("the GPUs of a PCIe switch share memory at the socket of their first", "[byteps]") {
  const JobView job = machines_of(2, 4);
  auto options = no_host_costs();
  // By rank: whose host memory it copies to; by machine: where the sum is, which goes on from
  // there.
  struct Layout {
    int size;
    std::vector<int> owners, sums;
  };
  for (const Layout& layout :
       {Layout{8, {0, 0, 0, 0, 4, 4, 4, 4}, {0, 4}}, Layout{3, {0, 0, 0, 0, 4, 4, 4, 4}, {0, 4}},
        Layout{2, {0, 0, 2, 2, 4, 4, 6, 6}, {2, 6}}}) {
    options.pcie_switch_size = layout.size;
    const auto exchanges = BytePs(options, job).exchanges();
    const double part = layout.size == 2 ? 0.5 : 0.25;
    for (std::size_t rank = 0; rank < layout.owners.size(); ++rank) {
      const Message& out = exchanges[0].phases.front()[rank];
      CHECK(out.to == Endpoint{Endpoint::Place::host, layout.owners[rank]});
      CHECK(out.share == Approx(part));
      const Message& in = exchanges[1].phases.front()[rank];
      CHECK(in.from == Endpoint{Endpoint::Place::host, layout.sums[rank / 4]});
      CHECK(in.share == Approx(part));
    }
    for (std::size_t machine = 0; machine < 2; ++machine) {
      const Endpoint sum{Endpoint::Place::host, layout.sums[machine]};
      CHECK(exchanges[2].phases.front()[machine].from == sum);
      CHECK(exchanges[3].phases.front()[machine].to == sum);
    }
  }
}

TEST_CASE("NCCL joins the GPUs of a PCIe switch, and a CPU adds the switches' sums", "[byteps]") {
  const JobView job = machines_of(1, 4);
  auto options = no_host_costs();
  options.pcie_switch_size = 2;
  BytePs byteps(options, job);
  CHECK(byteps.collectives() ==
        std::vector<CollectiveUse>{{CollectiveKind::reduce_scatter, families::node, 2},
                                   {CollectiveKind::all_gather, families::node, 2}});
  CHECK(byteps.exchanges().size() == 2);  // copies, and no servers
  CHECK(byteps.warnings().empty());
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 0});
  CHECK(loop.end_oldest() == Texts{"REDUCE 400"});
  CHECK(std::get<Collective>(loop.log().back()).part == 2);
  CHECK(loop.end_oldest() == Texts{"COPYD2H t0 400 by 0"});
  CHECK(loop.end_oldest() == Texts{"host 2 PCIE_REDUCE t0"});
  // Two ranks each add 200 bytes at 1 GB/s.
  CHECK(std::get<HostWork>(loop.log().back()).time.count() == Approx(200 / 1e9));
  CHECK(loop.end_oldest() == Texts{"COPYH2D t0 400 by 1"});
  CHECK(loop.end_oldest() == Texts{"BROADCAST 400"});
  loop.end_oldest();
  CHECK(loop.quiet());
}

TEST_CASE("a PCIe switch of one GPU has nothing for NCCL", "[byteps]") {
  const JobView job = machines_of(1, 4);
  auto options = no_host_costs();
  options.pcie_switch_size = 1;
  BytePs byteps(options, job);
  CHECK(byteps.collectives().empty());
  ToyLoop loop(byteps);
  CHECK(loop.iterate(job, 0) == Texts{"ready", "COPYD2H t0 400 by 0", "host 2 PCIE_REDUCE t0",
                                      "COPYH2D t0 400 by 1", "flag all pulled", "gate 4",
                                      "raise 4"});
  // One rank adds the buffers of three others.
  CHECK(std::get<HostWork>(loop.log()[2]).time.count() == Approx(3 * 400 / 1e9));
}

TEST_CASE("a PCIe switch that does not divide a machine's GPUs is reported, and all are joined",
          "[byteps]") {
  const JobView job = machines_of(1, 6);
  auto options = no_host_costs();
  options.pcie_switch_size = 4;
  const BytePs byteps(options, job);
  CHECK(byteps.exchanges().empty());
  CHECK(byteps.warnings() ==
        std::vector<Warning>{{"knob-not-followed",
                              "'pcie_switch_size' is 4, which does not divide the 6 GPUs of a "
                              "machine: NCCL joins all of them, as in BytePS"}});
  options.pcie_switch_size = 8;
  CHECK(BytePs(options, job).warnings().empty());
}

TEST_CASE("with reduce_roots djb2 of its key says on which GPU a partition is", "[byteps]") {
  const JobView job = machines_of(2, 4);
  auto options = no_host_costs();
  options.reduce_roots = {1, 3};
  options.partition_bytes = Bytes{16384};
  JobView large = job;
  large.tensors[0].elements = 3 * 16384 / 4;
  BytePs byteps(options, large);
  CHECK(byteps.collectives() ==
        std::vector<CollectiveUse>{{CollectiveKind::reduce, families::node, 8, 1},
                                   {CollectiveKind::broadcast, families::node, 8, 1},
                                   {CollectiveKind::reduce, families::node, 8, 3},
                                   {CollectiveKind::broadcast, families::node, 8, 3}});
  // djb2 of "0", "1", "2": 33 * 5381 + 48 and so on, 177621 to 177623: odd, even, odd.
  // Exchanges 0 and 1 copy from and to GPU 1 of each machine, 2 and 3 GPU 3.
  const auto exchanges = byteps.exchanges();
  CHECK(exchanges[2].phases.front()[1].from == Endpoint{Endpoint::Place::gpu, 7});
  CHECK(exchanges[2].phases.front()[1].to == Endpoint{Endpoint::Place::host, 4});
  CHECK(exchanges[3].phases.front()[0].to == Endpoint{Endpoint::Place::gpu, 3});
  CHECK(exchanges[0].phases.front()[1].from == Endpoint{Endpoint::Place::gpu, 5});
  ToyLoop loop(byteps);
  loop.tell(IterationStart{});
  loop.tell(HookFired{.tensor = 0});
  CHECK(loop.end_oldest() == Texts{"REDUCE 16384", "REDUCE 32768"});
  CHECK(std::get<Collective>(loop.log()[1]).root == 1);
  CHECK(std::get<Collective>(loop.log()[2]).root == 3);
  CHECK(loop.end_oldest().empty());  // the group's events are waited for together
  // Each GPU copies one after the other, two of them side by side.
  CHECK(loop.end_oldest() == Texts{"COPYD2H t0 part 0 16384 by 2", "COPYD2H t0 part 1 16384 by 0"});
  loop.end_all();
  CHECK(loop.quiet());
}

TEST_CASE("reduce_roots names GPUs of a machine of one PCIe switch", "[byteps]") {
  const JobView job = machines_of(2, 4);
  auto options = no_host_costs();
  options.reduce_roots = {0, 4};
  CHECK_THROWS_WITH(BytePs(options, job),
                    "'reduce_roots' names GPU 4; expected at most 3, the last of a machine");
  options.reduce_roots = {0};
  options.pcie_switch_size = 2;
  CHECK_THROWS_WITH(BytePs(options, job),
                    "'reduce_roots' is for machines of one PCIe switch, and 'pcie_switch_size' 2 "
                    "is below the 4 GPUs of a machine; expected one of the two, as in BytePS");
}
