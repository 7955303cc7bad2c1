#include <fmt/format.h>

#include <numeric>

#include "tests/catch.hpp"
#include "tests/laws/training_law.hpp"

using namespace gradwire;
using namespace gradwire::laws;

namespace {

const std::vector<std::string> all_reduces = {"{name: ddp}",     "{name: ddp, bucket_cap: 5 MiB}",
                                              "{name: bsp}",     "{name: wfbp}",
                                              "{name: horovod}", "{name: mg_wfbp}",
                                              "{name: dear}",    "{name: lb_sgd}",
                                              "{name: fsdp}"};
// ByteScheduler over Horovod 0.19 hands on at cycles of 5 ms: without noise an iteration locks to a
// multiple of them (65.00 ms, 75.00 ms on GPUs twice as fast), as that release's does. Its hooks
// wait for the interpreter only while transfers are polled: where a slower GPU lets each transfer
// end before the next hook, a faster one waits at more hooks (258.9 ms, 270.1 ms).
const std::vector<std::string> servers = {
    "{name: byteps}", "{name: ps_sync}", "{name: p3}", "{name: tictac}",
    "{name: bytescheduler, cycle_time: 0.1 ms, gil_wait: 0 ms}"};
const std::vector<std::string> asynchronous = {"{name: ps_async}", "{name: ssp}",
                                               "{name: kungfu_pair_averaging}"};
const std::vector<std::string> peers = {"{name: kungfu_sync}", "{name: kungfu_sma}",
                                        "{name: decentralized}", "{name: local_sgd}"};
/// Whose optimizer is divided among ranks, or runs layer by layer in the next forward.
const std::vector<std::string> divided = {"{name: fsdp2}",
                                          "{name: hsdp}",
                                          "{name: deepspeed}",
                                          "{name: dear}",
                                          "{name: mxnet_kvstore}",
                                          "{name: megatron}",
                                          "{name: tictac}",
                                          "{name: p3}",
                                          "{name: byteps, cross_barrier: true}"};

std::vector<std::string> any_of(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}
/// Those that choose their groups by a model of the network (MG-WFBP) do not always choose better
/// ones for a better network.
std::vector<std::string> without_planners() {
  std::vector<std::string> all = any_of({all_reduces, servers});
  std::erase(all, "{name: mg_wfbp}");
  return all;
}
std::vector<std::string> synchronous() {
  return any_of({all_reduces, servers, peers});
}

bool is_joined(const TrainingJob& job) {
  return job.machines > 1;
}

/// A law about one field of jobs on several machines.
template <class Field, class Change>
Law joined(std::string name, std::vector<std::string> strategies, Field TrainingJob::*field,
           Change change, double (*excess)(const Prediction&, const Prediction&)) {
  return {.name = std::move(name),
          .strategies = std::move(strategies),
          .change = [=](TrainingJob& job) -> std::optional<TrainingJob> {
            if (!is_joined(job)) return std::nullopt;
            TrainingJob after = job;
            after.*field = change(job.*field);
            return after;
          },
          .excess = excess};
}

}  // namespace

TEST_CASE("a faster port never slows a job", "[laws][long][many]") {
  check(joined(
            "a port twice as fast", synchronous(), &TrainingJob::port_gbit,
            [](double rate) { return 2 * rate; }, slower),
        150, 101);
}

TEST_CASE("a faster port never slows a job by the order of its messages", "[laws][long][many]") {
  // Where servers bind, what is urgent overtakes what waits for them: no port is fast enough to
  // bring them all of the rest before.
  Law law = joined(
      "a port twice as fast", {"{name: p3}", "{name: tictac}", "{name: mxnet_kvstore}"},
      &TrainingJob::port_gbit, [](double rate) { return 2 * rate; }, slower);
  law.slack = 0.005;
  check(law, 100, 119);
}

TEST_CASE("a lower latency never slows a job", "[laws][long][many]") {
  check(joined(
            "half the latency", without_planners(), &TrainingJob::latency_us,
            [](double latency) { return latency / 2; }, slower),
        150, 102);
}

TEST_CASE("more ports never slow a job whose machines have as many GPUs", "[laws][long][many]") {
  // docs/collective_choices.md: over more ports than GPUs, or than a machine ships with, our search
  // may lay worse rings.
  const Law law{
      .name = "twice as many ports",
      .strategies = without_planners(),
      .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
        if (!is_joined(job) || 2 * job.ports > std::min(job.gpus_per_node, job.ports_most)) {
          return std::nullopt;
        }
        TrainingJob after = job;
        after.ports *= 2;
        return after;
      },
      .excess = slower};
  check(law, 100, 103);
}

TEST_CASE("more oversubscription never speeds a job", "[laws][long][many]") {
  const Law law{.name = "twice the oversubscription",
                .strategies = synchronous(),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.machines <= job.nodes_per_leaf) return std::nullopt;
                  job.fabric = "fat_tree";
                  job.ports = 4;
                  TrainingJob after = job;
                  after.oversubscription *= 2;
                  return after;
                },
                .excess = faster};
  check(law, 120, 104);
}

TEST_CASE("a faster GPU never slows a job", "[laws][long][many]") {
  const Law law{.name = "GPUs twice as fast",
                .strategies = synchronous(),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  TrainingJob after = job;
                  after.compute = 0.5;
                  after.straggler_factor *= 1;
                  return after;
                },
                .excess = slower};
  check(law, 150, 105);
}

TEST_CASE("ports that read GPU memory never slow a job", "[laws][long][many]") {
  const Law law{.name = "gpudirect",
                .strategies = all_reduces,
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (!is_joined(job) || job.link_kind == "tcp") return std::nullopt;
                  job.gpudirect = false;
                  TrainingJob after = job;
                  after.gpudirect = true;
                  return after;
                },
                .excess = slower};
  check(law, 100, 106);
}

// (Of asynchronous jobs: tests/train/straggler_law_test.cpp, the mean of several seeds.)
TEST_CASE("a slower straggler never speeds a job", "[laws][long][many]") {
  const Law law{.name = "a straggler half as fast again",
                .strategies = synchronous(),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.straggler < 0 || job.world_size() < 2) return std::nullopt;
                  TrainingJob after = job;
                  after.straggler_factor *= 2;
                  return after;
                },
                .excess = faster};
  check(law, 120, 107);
}

TEST_CASE("more machines at the same work a rank never speed an iteration", "[laws][long][many]") {
  check(joined(
            "twice as many machines", any_of({all_reduces, peers}), &TrainingJob::machines,
            [](int machines) { return 2 * machines; }, faster),
        150, 109);
}

TEST_CASE("no strategy beats ranks that never talk", "[laws][long][many]") {
  const Law law{.name = "without communication",
                .strategies = any_of({all_reduces, servers, peers, asynchronous}),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.world_size() > 32) return std::nullopt;
                  job.straggler = -1;  // who does not wait for it may be faster than it is
                  // Where its host bounds the optimizer, updates between layers really hide it.
                  job.optimizer = "sgd, optimizer_step: fused";
                  // FSDP's flat parameters are few: a host that bounds all has less to launch.
                  if (job.strategy.starts_with("{name: fsdp")) job.batch = std::max(job.batch, 32);
                  TrainingJob after = job;
                  after.strategy = "{name: none}";
                  return after;
                },
                .excess = slower,
                .slack = 0.002,
                .excused_by_choice = false};
  check(law, 200, 110);
}

TEST_CASE("no strategy beats ranks that never talk by more than their optimizer's step",
          "[laws][long][many]") {
  // It may be divided among ranks, or run between the next forward's layers while a host that
  // bounds all launches them; of its own launches the fused one has the fewest.
  const Law law{.name = "without communication and optimizer",
                .strategies = any_of({all_reduces, servers, peers, asynchronous, divided}),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.world_size() > 32) return std::nullopt;
                  job.straggler = -1;  // who does not wait for it may be faster than it is
                  TrainingJob after = job;
                  after.optimizer = "sgd, optimizer_step: fused";
                  after.strategy = "{name: none}";
                  return after;
                },
                .excess =
                    [](const Prediction& strategy, const Prediction& none) {
                      return (none.iteration - none.optimizer) / strategy.iteration - 1;
                    },
                .slack = 0.002,
                .excused_by_choice = false};
  check(law, 200, 118);
}

TEST_CASE("DDP costs no more than BSP where a collective of any size has the same bandwidth",
          "[laws][long][many]") {
  const Law law{.name = "all gradients at once",
                .strategies = {"{name: ddp}"},
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.world_size() < 2) return std::nullopt;
                  job.collective = fmt::format(
                      "{{library: user, alpha: 0 us, bandwidth: {:.6g} Gbit/s}}", job.port_gbit);
                  TrainingJob after = job;
                  after.strategy = "{name: bsp}";
                  return after;
                },
                .excess =
                    [](const Prediction& ddp, const Prediction& bsp) {
                      return (ddp.iteration - ddp.own_work) / (bsp.iteration - bsp.own_work) - 1;
                    }};
  check(law, 150, 111);
}

TEST_CASE("doubling the batch never lowers the rate", "[laws][long][many]") {
  const Law law{.name = "twice the batch",
                .strategies = synchronous(),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  TrainingJob after = job;
                  after.batch *= 2;
                  return after;
                },
                .excess = [](const Prediction& before,
                             const Prediction& after) { return before.rate() / after.rate() - 1; }};
  check(law, 150, 112);
}

TEST_CASE("one GPU takes what its profile says", "[laws][long][many]") {
  const Law law{
      .name = "one GPU",
      .strategies = {"{name: none}"},
      .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
        job.machines = 1;
        job.gpus_per_node = 1;
        job.straggler = -1;
        job.jitter = false;
        return job;
      },
      .excess = [](const Prediction& one,
                   const Prediction& /*again*/) { return std::abs(one.iteration / one.alone - 1); },
      .slack = 1e-6};
  check(law, 80, 113);
}

TEST_CASE("which machine is called the first changes nothing", "[laws][long][many]") {
  const Law law{.name = "machines in another order",
                .strategies = any_of({all_reduces, peers}),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (!is_joined(job) || job.straggler >= 0) return std::nullopt;
                  job.jitter = false;
                  job.fabric = "single_switch";
                  job.machine_order.resize(static_cast<std::size_t>(job.machines));
                  std::iota(job.machine_order.begin(), job.machine_order.end(), 0);
                  TrainingJob after = job;
                  std::ranges::reverse(after.machine_order);
                  return after;
                },
                .excess = different,
                .slack = 1e-6};
  check(law, 80, 114);
}

TEST_CASE("every message by itself takes what the flows of a collective take",
          "[laws][long][many]") {
  // Top-k gathers values and indices together: two of Gloo's collectives at a time.
  const Law law{.name = "fidelity: step",
                .strategies = any_of({synchronous(), {"{name: topk}", "{name: powersgd}"}}),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.world_size() > 16) return std::nullopt;
                  job.jitter = false;
                  job.fidelity = "fluid";
                  const std::vector<std::string> libraries = {"mpi", "gloo", "flows",
                                                              "flows, algorithm: tree", "nccl"};
                  job.collective =
                      fmt::format("{{library: {}}}",
                                  libraries[static_cast<std::size_t>(job.seed) % libraries.size()]);
                  TrainingJob after = job;
                  after.fidelity = "step";
                  return after;
                },
                .excess = different,
                .slack = 0.005,
                .excused_by_choice = false};
  check(law, 150, 117);
}

TEST_CASE("what is taken by default takes what every message by itself does on PCIe machines",
          "[laws][long][many]") {
  const auto every_message = [](TrainingJob& job) -> std::optional<TrainingJob> {
    if (job.node.find("pcie") == std::string::npos) return std::nullopt;
    job.jitter = false;
    TrainingJob after = job;
    after.fidelity = "step";
    return after;
  };
  Law law{.name = "fidelity: step",
          .strategies = any_of({synchronous(), {"{name: byteps}", "{name: mxnet_kvstore}"}}),
          .change = every_message,
          .excess = different,
          .slack = 0.005,
          .excused_by_choice = false};
  check(law, 100, 120);
  law.strategies = {"{name: hsdp}"};
  law.change = [&](TrainingJob& job) {
    job.collective = "{library: flows, algorithm: tree}";
    return every_message(job);
  };
  check(law, 40, 121);
}

TEST_CASE("the order of a scenario's keys changes nothing", "[laws][long][many]") {
  const Law law{.name = "keys from the last to the first",
                .strategies = synchronous(),
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  TrainingJob after = job;
                  after.keys_reversed = true;
                  return after;
                },
                .excess = different,
                .slack = 1e-12};
  check(law, 60, 115);
}

TEST_CASE("twice the micro-batches are twice the work", "[laws][long][many]") {
  // Without communication and host gaps: forward and backward twice, one optimizer step.
  const Law law{.name = "two micro-batches",
                .strategies = {"{name: none}"},
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  job.micro_batches = 1;
                  job.straggler = -1;
                  job.jitter = false;
                  TrainingJob after = job;
                  after.micro_batches = 2;
                  return after;
                },
                .excess =
                    [](const Prediction& before, const Prediction& after) {
                      const double ratio = after.iteration / before.iteration;
                      return std::max(ratio - 2, 1 - ratio);
                    },
                .slack = 1e-6};
  check(law, 60, 116);
}
