// What holds of every prediction by itself, whatever the job: the first iterations counted or not,
// one or many, a profile whose iteration somebody else measured, every strategy.

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/laws/training_law.hpp"

using namespace gradwire;
using namespace gradwire::laws;

namespace {

const std::vector<std::string> all_reduces = {
    "{name: ddp}",     "{name: bsp}",      "{name: wfbp}", "{name: horovod}",
    "{name: mg_wfbp}", "{name: asc_wfbp}", "{name: dear}", "{name: lb_sgd}"};
const std::vector<std::string> others = {
    "{name: byteps}",    "{name: bytescheduler}", "{name: p3}",         "{name: tictac}",
    "{name: ps_sync}",   "{name: kungfu_sync}",   "{name: kungfu_sma}", "{name: decentralized}",
    "{name: local_sgd}", "{name: fsdp}",          "{name: hsdp}",       "{name: powersgd}",
    "{name: acp_sgd}",   "{name: topk}",          "{name: gtopk}",      "{name: signsgd}",
    "{name: bytegrad}"};
/// Where nobody waits for the slowest.
const std::vector<std::string> asynchronous = {"{name: none}", "{name: ps_async}", "{name: ssp}",
                                               "{name: kungfu_pair_averaging}"};

std::vector<std::string> synchronous() {
  std::vector<std::string> all = all_reduces;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}
std::vector<std::string> every() {
  std::vector<std::string> all = synchronous();
  all.insert(all.end(), asynchronous.begin(), asynchronous.end());
  return all;
}

/// What the other laws leave as it is, drawn by the job's own seed, which is a draw too.
void draw_run(TrainingJob& job) {
  laws::Draws draws(static_cast<std::uint64_t>(job.seed));
  job.iterations = draws.of<int>({1, 2, 4, 9});
  job.warmup = draws.of<int>({0, 0, 1, 3});
  if (draws.chance(0.3)) job.iteration_ms = draws.of<double>({40, 250, 900});
}

/// Of one job, predicted twice.
Law of_each(std::string name, std::vector<std::string> strategies,
            double (*excess)(const Prediction& first, const Prediction& again), double slack,
            bool varied = true) {
  return {.name = std::move(name),
          .strategies = std::move(strategies),
          .change = [varied](TrainingJob& job) -> std::optional<TrainingJob> {
            draw_run(job);
            if (!varied) job.jitter = false;
            return job;
          },
          .excess = excess,
          .slack = slack,
          .excused_by_choice = false};
}

}  // namespace

TEST_CASE("an iteration's parts add up to it, and none is below nothing", "[laws][long][many]") {
  check(of_each(
            "parts", every(),
            [](const Prediction& one, const Prediction& /*again*/) {
              const double apart = std::abs(one.parts / one.iteration - 1);
              return std::max(apart, one.least_part < 0 ? 1.0 : 0.0);
            },
            1e-9),
        150, 201);
}

TEST_CASE("a job predicted twice gives the same bits", "[laws][long][many]") {
  check(of_each(
            "same bits", every(),
            [](const Prediction& one, const Prediction& again) {
              return one.digest == again.digest && one.iteration == again.iteration ? 0.0 : 1.0;
            },
            0),
        150, 202);
}

TEST_CASE("without a doubt that is reported no job is more efficient than GPUs alone",
          "[laws][long][many]") {
  check(of_each(
            "efficiency", every(),
            [](const Prediction& one, const Prediction& /*again*/) {
              return one.doubted ? 0 : one.efficiency - 1;
            },
            0.0005, false),  // less is reported as 100.0 %
        250, 203);
}

TEST_CASE("an iteration takes at least its slowest rank's forward and backward",
          "[laws][long][many]") {
  check(of_each(
            "compute", synchronous(),
            [](const Prediction& one, const Prediction& /*again*/) {
              return one.compute / one.iteration - 1;
            },
            1e-9, false),
        150, 204);
}

TEST_CASE("links are used between not at all and all the time", "[laws][long][many]") {
  check(of_each(
            "utilisation", every(),
            [](const Prediction& one, const Prediction& /*again*/) {
              return std::max(one.utilisation - 1, -one.least_used);
            },
            1e-9),
        250, 205);
}

TEST_CASE("an all-reduce sends what it must", "[laws][long][many]") {
  // Of n ranks n - 1 parts must come together and n - 1 copies go out, each of all gradients; who
  // sends the most sends at least the mean, 2 (n - 1) / n (Patarasuk and Yuan, JPDC 2009, section
  // 3). A switch that adds needs half of it.
  const Law law{.name = "bytes",
                .strategies = all_reduces,
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  if (job.world_size() < 2) return std::nullopt;
                  draw_run(job);
                  job.warmup = std::max(job.warmup, 2);  // DeAR's first ones lack a half
                  job.collective = "{library: nccl, algorithm: ring}";
                  return job;
                },
                .excess =
                    [](const Prediction& one, const Prediction& /*again*/) {
                      return one.doubted ? 0 : one.must_send / one.sent - 1;
                    },
                .slack = 1e-6,
                .excused_by_choice = false};
  check(law, 100, 206);
}
