// What a host, a code and a batch may not do, whatever the job.

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/laws/training_law.hpp"

namespace gradwire::laws {
namespace {

/// Without those that merge by what could not have started (ASC-WFBP, MG-WFBP): an earlier gradient
/// may end their group before a better one. Asynchronous workers meet at servers by chance.
const std::vector<std::string> strategies = {
    "{name: ddp}",       "{name: bsp}",         "{name: wfbp}",      "{name: average_gradients}",
    "{name: horovod}",   "{name: apex_ddp}",    "{name: dear}",      "{name: lb_sgd}",
    "{name: fsdp}",      "{name: fsdp2}",       "{name: deepspeed}", "{name: megatron}",
    "{name: local_sgd}", "{name: kungfu_sync}", "{name: ps_sync}",   "{name: mxnet_kvstore}",
    "{name: byteps}"};

TEST_CASE("a faster host never slows a job", "[laws][long][many]") {
  const Law law{.name = "half the host's time",
                .strategies = strategies,
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  job.host_time = 100;
                  TrainingJob after = job;
                  after.host_time = 50;
                  return after;
                },
                .excess = slower};
  check(law, 100, 131);
}

TEST_CASE("a code that keeps every element costs no less than none", "[laws][long][many]") {
  const Law law{.name = "all elements, with their places",
                .strategies = {"{name: ddp}", "{name: bsp}", "{name: wfbp}", "{name: horovod}"},
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  TrainingJob after = job;
                  const std::vector<std::string> codes = {"topk", "ef_topk", "randomk", "dgc"};
                  const std::string& code = codes.at(static_cast<std::size_t>(job.seed) % 4);
                  after.strategy.insert(
                      after.strategy.size() - 1,
                      fmt::format(", compression: {{name: {}, density: 100 %}}", code));
                  return after;
                },
                .excess = faster};
  check(law, 60, 132);
}

TEST_CASE("twice the batch takes more memory", "[laws][long][many]") {
  const Law law{.name = "twice the batch",
                .strategies = strategies,
                .change = [](TrainingJob& job) -> std::optional<TrainingJob> {
                  TrainingJob after = job;
                  after.batch *= 2;
                  return after;
                },
                .excess = [](const Prediction& before,
                             const Prediction& after) { return before.memory / after.memory - 1; },
                .slack = 0,
                .excused_by_choice = false};
  check(law, 60, 133);
}

}  // namespace
}  // namespace gradwire::laws
