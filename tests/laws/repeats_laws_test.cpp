// Iterations that are counted are those that the run would come to, to the last bit: a state comes
// to the same at any time.
#include <algorithm>
#include <string>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

constexpr int warmup = 5;
constexpr int measured = 20;

/// P3's messages wait for one another in chains of hundreds: a rounding at their beginning is 1e-7
/// s at their end, and then they come in another order.
RunResult chained_messages(const std::string& latency, bool count) {
  const std::string yaml = R"(
schema: gradwire.scenario/1
name: chained
profile: {model: bert_base, gpu: v100-sxm2-32gb, batch_per_gpu: 8, dtype: fp16, sequence_length: 128}
cluster: {node: dgx1v, nodes: 2, gpus_per_node: 2, fabric: {kind: single_switch, link:
  {bandwidth: 12.5 GB/s, kind: tcp, latency: )" +
                           latency +
                           R"(}}}
strategy: {name: p3}
collective: {library: mpi}
run: {iterations: 20, warmup: 5, seed: 1}
jitter: {rank: 0 %, several_gpus: 0 %, iteration: 0 %, layer: 0 %, message: 0 %}
)";
  const config::Scenario scenario =
      config::read_scenario(config::parse_yaml(yaml, "chained.yaml"), {});
  Job job = cli::job_of(scenario);
  job.count_repeats = count;
  return simulate(job);
}

}  // namespace

TEST_CASE("chains of messages come to the same in each iteration, however late it is",
          "[repeats]") {
  for (const std::string latency : {"5 us", "10 us", "25 us"}) {
    INFO(latency);
    const RunResult whole = chained_messages(latency, false);
    const RunResult counted = chained_messages(latency, true);
    REQUIRE(whole.engine_cost.iterations_run == warmup + measured);
    CHECK(counted.engine_cost.iterations_run < warmup + measured);
    // The run lasts 3 s: with a clock from 0 its grid is five times another since 0.1 s.
    CHECK(whole.iteration_s == counted.iteration_s);
    CHECK(std::ranges::all_of(whole.iteration_s,
                              [&](double one) { return one == whole.iteration_s.front(); }));
  }
}
