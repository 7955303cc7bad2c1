#include "strategies/horovod/horovod.hpp"

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// `machines` machines of `local` GPUs.
JobView machines_job(const std::vector<std::int64_t>& elements, int machines, int local) {
  auto job = toy_job(elements);
  job.machines = machines;
  job.world_size = machines * local;
  for (int rank = 0; rank < job.world_size; ++rank) job.machine_of.push_back(rank / local);
  job.message_latency = Seconds{10e-6};
  return job;
}

HorovodOptimizerOptions reduced_by(HorovodReduction reduction) {
  HorovodOptimizerOptions options;
  options.core.reduction = reduction;
  options.core.host_sum_rate = core_sum_rate;
  return options;
}

/// What a response of one tensor does.
Operations stages(const HorovodOptimizerOptions& options, const JobView& job, std::int64_t size) {
  const HorovodRequest request{.size = Bytes{size}, .tensors = {0}};
  return HorovodReductions(options.core, job).stages(std::vector{request}, 1);
}

double share_from(const Exchange& exchange, std::size_t phase, Endpoint from) {
  double share = 0;
  for (const auto& message : exchange.phases[phase])
    share += message.from == from ? message.share : 0;
  return share;
}

}  // namespace

TEST_CASE("Horovod's step waits until the last gradient is reduced", "[horovod]") {
  HorovodOptimizerOptions options;
  options.core.cycle_time = Seconds{0};
  options.core.request_time = Seconds{0};
  options.core.local_latency = Seconds{0};
  Horovod horovod(options, toy_job({10}));
  const auto hook = horovod.on_event(Seconds{}, HookFired{.tensor = 0});
  REQUIRE(hook.size() == 3);  // 0 Python, 1 marker, 2 negotiation: the thread polls
  CHECK(std::get<HostWork>(hook[0]).thread == HostWork::launcher);
  CHECK(std::get<HostWork>(hook[0]).time == options.core.hook_time);
  const auto step = horovod.on_event(Seconds{}, BackwardDone{});
  REQUIRE(step.size() == 2);  // 3 flag, 4 gate
  CHECK(std::get<Gate>(step[1]).until == std::vector<OperationId>{3});
  CHECK(horovod.on_event(Seconds{}, OperationDone{2}).empty());
  CHECK(collective_sizes(horovod.on_event(Seconds{}, OperationDone{1})) ==
        std::vector<std::int64_t>{40});                              // 5
  CHECK(horovod.on_event(Seconds{}, OperationDone{5}).size() == 1);  // 6 average
  const auto end = horovod.on_event(Seconds{}, OperationDone{6});
  REQUIRE(end.size() == 1);
  CHECK(std::get<Raise>(end[0]).flag == 3);
}

TEST_CASE("one rank has no hooks", "[horovod]") {
  auto job = toy_job({10});
  job.world_size = 1;
  Horovod horovod({}, job);
  CHECK(horovod.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(horovod.on_event(Seconds{}, BackwardDone{}).empty());
}

TEST_CASE("Horovod reduces in the last backward pass only", "[horovod]") {
  Horovod horovod({}, toy_job({10}, 2));
  CHECK(horovod.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 0}).empty());
  CHECK(horovod.on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  CHECK_FALSE(horovod.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 1}).empty());
}

TEST_CASE("TensorFlow's helper hands gradients over when all micro-batches are added up",
          "[horovod]") {
  HorovodOptimizerOptions options;
  options.aggregation_helper = true;
  Horovod horovod(options, toy_job({10, 20}, 2));
  for (const TensorId tensor : {1, 0}) {
    const auto hook = horovod.on_event(Seconds{}, HookFired{.tensor = tensor, .micro_batch = 1});
    REQUIRE(hook.size() == 1);  // 0, 1: Python
    CHECK(std::holds_alternative<HostWork>(hook[0]));
  }
  // 2 marker of both, 3 timer, 4 flag, 5 gate
  CHECK(horovod.on_event(Seconds{}, BackwardDone{.micro_batch = 1}).size() == 4);
  // One micro-batch needs no helper.
  Horovod alone(options, toy_job({10, 20}));
  CHECK(alone.on_event(Seconds{}, HookFired{.tensor = 1}).size() == 3);
}

TEST_CASE("a group is handed over with the last of its gradients", "[horovod]") {
  HorovodOptimizerOptions options;
  options.groups = 2;  // of 3 tensors: {t0, t1} and {t2}
  Horovod horovod(options, toy_job({10, 20, 30}));
  CHECK(horovod.on_event(Seconds{}, HookFired{.tensor = 2}).size() == 3);  // Python, marker, timer
  CHECK(horovod.on_event(Seconds{}, HookFired{.tensor = 1}).size() == 1);  // Python
  CHECK(horovod.on_event(Seconds{}, HookFired{.tensor = 0}).size() == 2);  // Python, marker of both
}

TEST_CASE("a sparse gradient is gathered as indices and rows", "[horovod]") {
  auto job = toy_job({10, 4000});
  job.tensors[1].name = "word_embeddings.weight";
  job.tensors[1].shape = {1000, 4};
  HorovodOptimizerOptions options;
  job.tensors[1].sparse_rows = 50;
  Horovod horovod(options, job);
  // 4 ranks of 50 rows: indices of 8 bytes, rows of 4 fp32.
  const auto plan = horovod.plan(0);
  std::int64_t gathered = 0;
  for (const auto& group : plan) gathered += group.tensors[0] == 1 ? group.size.count() : 0;
  CHECK(gathered == 4 * 50 * 8 + 4 * 50 * 4 * 4);
}

TEST_CASE("hierarchical reduction moves 1/g through each host and blocks the thread",
          "[horovod][hierarchical]") {
  const auto options = reduced_by(HorovodReduction::hierarchical);
  const auto job = machines_job({1000}, 3, 4);
  const auto operations = stages(options, job, 4000);
  REQUIRE(operations.size() == 7);  // RS, D2H, MPI, sum, H2D, AG, average
  CHECK(std::get<Collective>(operations[0]).kind == CollectiveKind::reduce_scatter);
  CHECK(std::get<Collective>(operations[0]).communicator == families::node);
  CHECK(std::get<Messages>(operations[2]).size == Bytes{4000});
  // Each process adds 1/4 of the buffer, of the other two machines 2/3 of it.
  CHECK(std::get<HostWork>(operations[3]).time.count() == Approx(1000 * 2.0 / 3 / 14.2e9));
  CHECK(std::get<Collective>(operations[5]).kind == CollectiveKind::all_gather);

  const HorovodReductions ways(options.core, job);
  CHECK(ways.blocks());
  const auto exchanges = ways.exchanges();
  REQUIRE(exchanges.size() == 3);
  CHECK(share_from(exchanges[0], 0, {Endpoint::Place::gpu, 5}) == Approx(0.25));
  // Ring over 3 machines: each sends 2 (3-1)/3 of the buffer, in 4 steps of 10 us.
  CHECK(share_from(exchanges[1], 0, {Endpoint::Place::host, 4}) == Approx(4.0 / 3));
  CHECK(exchanges[1].startup.count() == Approx(40e-6));
  CHECK(exchanges[1].connections == 4);
}

TEST_CASE("hierarchical reduction on unequal machines goes through one GPU of each",
          "[horovod][hierarchical]") {
  auto job = machines_job({1000}, 2, 2);
  job.machine_of = {0, 0, 0, 1};
  const auto options = reduced_by(HorovodReduction::hierarchical);
  const auto operations = stages(options, job, 4000);
  CHECK(std::get<Collective>(operations[0]).kind == CollectiveKind::reduce);
  const auto exchanges = HorovodReductions(options.core, job).exchanges();
  CHECK(share_from(exchanges[0], 0, {Endpoint::Place::gpu, 0}) == Approx(1));
  CHECK(share_from(exchanges[0], 0, {Endpoint::Place::gpu, 1}) == 0);
  CHECK(share_from(exchanges[0], 0, {Endpoint::Place::gpu, 3}) == Approx(1));
}

TEST_CASE("a single machine has no hierarchy and no torus", "[horovod][hierarchical]") {
  const auto reduction = GENERATE(HorovodReduction::hierarchical, HorovodReduction::torus);
  const auto operations = stages(reduced_by(reduction), machines_job({1000}, 1, 4), 4000);
  CHECK(std::get<Collective>(operations[0]).kind == CollectiveKind::all_reduce);
  CHECK(std::get<Collective>(operations[0]).communicator == families::all);
}

TEST_CASE("the torus reduces 1/g between machines on the GPU", "[horovod][torus]") {
  const auto operations =
      stages(reduced_by(HorovodReduction::torus), machines_job({1000}, 3, 4), 4000);
  REQUIRE(operations.size() == 4);
  CHECK(collective_sizes(operations) == std::vector<std::int64_t>{4000, 1000, 4000});
  CHECK(std::get<Collective>(operations[1]).communicator == families::across);
}

TEST_CASE("Adasum halves vectors with machines ever further away, and back", "[horovod][adasum]") {
  const auto options = reduced_by(HorovodReduction::adasum);
  const auto exchanges = HorovodReductions(options.core, machines_job({1000}, 4, 2)).exchanges();
  const auto& phases = exchanges[1].phases;
  REQUIRE(phases.size() == 4);
  // 1/2 with the neighbour, 1/4 with the one two away, and the same back: 2 (1 - 1/4) in all.
  double sent = 0;
  for (std::size_t phase = 0; phase < phases.size(); ++phase) {
    sent += share_from(exchanges[1], phase, {Endpoint::Place::host, 2});
  }
  CHECK(sent == Approx(1.5));
  CHECK(phases[1][0].to == Endpoint{Endpoint::Place::host, 4});  // first rank of machine 2
  CHECK(exchanges[1].startup.count() == Approx((1 + 2) * 10e-6));
  CHECK_THROWS_AS(HorovodReductions(options.core, machines_job({1000}, 3, 2)), SimulationError);
}

TEST_CASE("Adasum runs the optimizer in the hooks and reduces what it changed",
          "[horovod][adasum]") {
  Horovod horovod(reduced_by(HorovodReduction::adasum), machines_job({30, 10}, 2, 2));
  CHECK(horovod.traits().own_optimizer);
  const auto hook = horovod.on_event(Seconds{}, HookFired{.tensor = 1});
  CHECK(std::get<OptimizerStep>(hook[2]).share == Approx(0.25));  // Python, copy, step
  const auto step = horovod.on_event(Seconds{}, BackwardDone{});
  CHECK(std::get<DeviceWork>(step.back()).kernels == 2);
}

TEST_CASE("what a machine's GPUs do not divide is reduced to one of them and broadcast",
          "[horovod][hierarchical]") {
  // 1003 floats on machines of 4: 250 each and 3 more, which go across with the last GPU's.
  const auto job = machines_job({1003}, 3, 4);
  const auto operations = stages(reduced_by(HorovodReduction::hierarchical), job, 4012);
  REQUIRE(operations.size() == 9);  // RS, reduce, D2H, MPI, sum, H2D, AG, broadcast, average
  CHECK(collective_sizes(operations) == std::vector<std::int64_t>{4000, 12, 4000, 12});
  CHECK(std::get<Collective>(operations[1]).kind == CollectiveKind::reduce);
  CHECK(std::get<Collective>(operations[7]).kind == CollectiveKind::broadcast);
  // Every GPU's part is taken to be as large as the last one's.
  CHECK(std::get<Messages>(operations[3]).size == Bytes{4 * 253 * 4});
  CHECK(std::get<HostWork>(operations[4]).time.count() == Approx(1012 * 2.0 / 3 / 14.2e9));

  SECTION("on the torus as well") {
    const auto torus = stages(reduced_by(HorovodReduction::torus), job, 4012);
    CHECK(collective_sizes(torus) == std::vector<std::int64_t>{4000, 12, 1012, 4000, 12});
  }
  SECTION("a tensor of fewer elements than GPUs goes that way alone") {
    const auto few = stages(reduced_by(HorovodReduction::torus), job, 12);
    CHECK(collective_sizes(few) == std::vector<std::int64_t>{12, 12, 12});
  }
  SECTION("these collectives are planned where a tensor needs them") {
    const auto uses = [](const JobView& of) {
      return HorovodReductions(reduced_by(HorovodReduction::torus).core, of).collectives().size();
    };
    CHECK(uses(job) == 5);
    CHECK(uses(machines_job({1000}, 3, 4)) == 3);
  }
}

TEST_CASE("a fused buffer is padded to 64 elements a GPU of the machine",
          "[horovod][hierarchical]") {
  // Tensors of 1003 and 5 floats take 4016 and 32 bytes of the buffer, 1012 floats: the next
  // multiple of 4 * 64 is 1024.
  const std::vector<HorovodRequest> requests = {{.size = Bytes{4012}, .tensors = {0}},
                                                {.size = Bytes{20}, .tensors = {1}}};
  const auto job = machines_job({1003, 5}, 3, 4);
  const auto buffer_of = [&](HorovodReduction reduction) {
    const auto all = HorovodReductions(reduced_by(reduction).core, job).stages(requests, 1);
    CHECK(std::get<DeviceWork>(all.front()).traffic == Bytes{2 * 4032});  // what is copied is not
    return collective_sizes(all);
  };
  CHECK(buffer_of(HorovodReduction::torus) == std::vector<std::int64_t>{4096, 1024, 4096});
  CHECK(buffer_of(HorovodReduction::hierarchical) == std::vector<std::int64_t>{4096, 4096});
  CHECK(buffer_of(HorovodReduction::flat) == std::vector<std::int64_t>{4048});
}

TEST_CASE("the fusion threshold is divided evenly by a machine's ranks", "[horovod]") {
  // 6 ranks of 64 doubles: 3072 bytes; 10 000 bytes are 3.3 times as much.
  HorovodOptions options;
  options.fusion_threshold = Bytes{10'000};
  const auto threshold = [&](const JobView& job) {
    return HorovodReductions(options, job).threshold().count();
  };
  CHECK(threshold(machines_job({10}, 2, 6)) == 4 * 3072);
  options.fusion_threshold = Bytes{0};
  CHECK(threshold(machines_job({10}, 2, 6)) == 0);
  options.fusion_threshold = Bytes{10'000};
  auto unequal = machines_job({10}, 2, 2);
  unequal.machine_of = {0, 0, 0, 1};
  CHECK(threshold(unequal) == 10'000);
  options.version = {0, 18};  // before Adasum for hierarchical all-reduce only
  CHECK(threshold(machines_job({10}, 2, 6)) == 10'000);
  options.reduction = HorovodReduction::hierarchical;
  CHECK(threshold(machines_job({10}, 2, 6)) == 4 * 3072);
}

TEST_CASE("a hierarchical gather by MPI goes through a window that a machine's ranks share",
          "[horovod][gather]") {
  // 2 machines of 2 ranks, 4 parts of 4 MB, copies at 1 GB/s, barriers of 10 + 2 us.
  auto job = machines_job({10}, 2, 2);
  HorovodOptions options;
  options.host_copy_rate = BytesPerSecond{1e9};
  options.local_latency = Seconds{2e-6};
  options.gather = HorovodGather::mpi_hierarchical;
  const std::vector<HorovodRequest> request = {
      {.kind = RequestKind::gather, .size = Bytes{16'000'000}, .tensors = {0}}};
  const auto all = HorovodReductions(options, job).stages(request, 1);
  REQUIRE(all.size() == 5);  // to the host, in, across, out, to the GPU
  CHECK(std::get<HostWork>(all[1]).time.count() == Approx(4e-3 + 12e-6));
  CHECK(std::get<HostWork>(all[3]).time.count() == Approx(16e-3 + 24e-6));
  const auto exchanges = HorovodReductions(options, job).exchanges();
  REQUIRE(exchanges.size() == 3);
  CHECK(share_from(exchanges[0], 0, {Endpoint::Place::gpu, 3}) == Approx(0.25));
  // Each machine sends its half to the other one, in one step of both local ranks.
  CHECK(share_from(exchanges[1], 0, {Endpoint::Place::host, 2}) == Approx(0.5));
  CHECK(exchanges[1].connections == 2);
  CHECK(exchanges[1].startup.count() == Approx(10e-6));
  CHECK(share_from(exchanges[2], 0, {Endpoint::Place::host, 3}) == Approx(1));

  SECTION("one rank gathers nothing") {
    job = machines_job({10}, 1, 1);
    CHECK(HorovodReductions(options, job).exchanges().empty());
  }
  SECTION("beside a hierarchical all-reduce its exchanges come behind that one's") {
    options.reduction = HorovodReduction::hierarchical;
    const HorovodReductions both(options, job);
    CHECK(both.exchanges().size() == 6);
    CHECK(std::get<Messages>(both.stages(request, 1)[2]).exchange == 4);
  }
  SECTION("a flat one is a ring over all ranks, 3 steps of 10 us and 3/4 of all") {
    options.gather = HorovodGather::mpi;
    const HorovodReductions flat(options, job);
    CHECK(flat.stages(request, 1).size() == 3);
    const auto ring = flat.exchanges()[1];
    CHECK(share_from(ring, 0, {Endpoint::Place::host, 1}) == Approx(0.75));
    CHECK(ring.startup.count() == Approx(30e-6));
  }
}

TEST_CASE("a group is handed over in the order of the model's parameters", "[horovod][groups]") {
  HorovodOptimizerOptions options;
  options.groups = 1;
  options.core.disable_group_fusion = true;
  options.core.fusion_threshold = Bytes{0};
  Horovod horovod(options, toy_job({10, 20}));
  const auto plan = horovod.plan(0);  // hooks fire for 1 first
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].tensors == std::vector<TensorId>{0});
}

TEST_CASE("copies are one kernel a tensor before 0.21 and one for 160 tensors after", "[horovod]") {
  HorovodOptimizerOptions options;
  const auto job = toy_job({10});
  const std::vector<HorovodRequest> requests(161, {.size = Bytes{16}, .tensors = {0}});
  options.core.version = {0, 20};
  const auto old = HorovodReductions(options.core, job).stages(requests, 1);
  REQUIRE(old.size() == 4);  // copy in, all-reduce, copy out, a division of each
  CHECK(std::get<DeviceWork>(old[0]).kernels == 161);
  CHECK(std::get<DeviceWork>(old[3]).kernels == 161);
  options.core.version = {0, 28};
  const auto batched = HorovodReductions(options.core, job).stages(requests, 1);
  REQUIRE(batched.size() == 3);
  CHECK(std::get<DeviceWork>(batched[0]).kernels == 2);

  SECTION("HOROVOD_BATCH_D2D_MEMCOPIES=0: a copy a tensor, and a kernel that scales the buffer") {
    options.core.batch_d2d_memcopies = false;
    const HorovodReductions ways(options.core, job);
    CHECK(ways.rounding() == 1);
    const auto each = ways.stages(requests, 1);
    REQUIRE(each.size() == 4);
    CHECK(std::get<DeviceWork>(each[0]).kernels == 161);
    CHECK(std::get<DeviceWork>(each[2]).kernels == 161);
    CHECK(std::get<DeviceWork>(each[3]).kernels == 1);
    CHECK(ways.stages(std::vector{requests[0]}, 1).size() == 2);  // one alone: no copies
  }
  SECTION("gathers are copied out rank by rank, by batches from 0.26 on") {
    std::vector<HorovodRequest> gathers(41, {.size = Bytes{16}, .tensors = {0}});
    for (auto& gather : gathers) gather.kind = RequestKind::gather;
    const auto copies = [&](int minor) {
      options.core.version = {0, minor};
      const auto all = HorovodReductions(options.core, job).stages(gathers, 1);
      return std::pair{std::get<DeviceWork>(all[0]).kernels, std::get<DeviceWork>(all[2]).kernels};
    };
    CHECK(copies(25) == std::pair{41, 4 * 41});
    CHECK(copies(26) == std::pair{1, 2});  // 164 parts of 4 ranks
  }
}
