// Our own solver in place of SimGrid's, as large jobs take it, on jobs small enough for both: 16
// and 64 GPUs of 4 a machine, each machine with a parameter server, and a network that decides.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "sim/config/yaml/yaml_knobs.hpp"
#include "strategies/servers/byteps.hpp"
#include "strategies/servers/p3.hpp"
#include "strategies/servers/ps_sync.hpp"
#include "strategies/servers/tictac.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Run {
  const char* name;
  StrategyMaker (*read)(Knobs& knobs);
};

/// Beside 19 ms of compute a server of 16 machines takes 6 MB / 16 from each: 6 MB / 0.5 GB/s = 12
/// ms each way.
/// @param elements  of each of the six layers.
RunResult simulate_on(const Run& run, int machines, std::optional<double> slack,
                      std::int64_t elements = 250'000) {
  auto toy = ToyTraining::networked(4, machines, BytesPerSecond{0.5e9});
  for (auto& layer : toy.profile.layers) layer.parameters.front().shape = {elements};
  for (int machine = 0; machine < machines; ++machine) toy.servers.push_back(machine);
  toy.engine.fidelity = Fidelity::fluid;
  toy.engine.slack = slack;
  config::KnobList defaults;
  const auto strategy = run.read(defaults);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter = {.rank = 0.02, .iteration = 0.05, .layer = 0.02};
  return simulate(job);
}

const Run run_of(int index) {
  static const std::array<Run, 4> runs = {
      Run{"p3", P3::read}, Run{"byteps", BytePs::read},
      Run{"ps_sync", [](Knobs& knobs) { return PsSync::read(knobs, {}); }},
      Run{"tictac", TicTac::read}};
  return runs.at(static_cast<std::size_t>(index));
}

double total(const RunResult& result) {
  return std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0);
}

}  // namespace

TEST_CASE("Without slack our own solver's iterations are SimGrid's", "[train][own-solver]") {
  const Run run = run_of(GENERATE(0, 1, 2, 3));
  const int machines = GENERATE(4, 16);
  INFO(run.name << " on " << machines << " machines");
  const RunResult simgrid = simulate_on(run, machines, std::nullopt);
  const RunResult own = simulate_on(run, machines, 0);
  REQUIRE(own.iteration_s.size() == simgrid.iteration_s.size());
  for (std::size_t i = 0; i < own.iteration_s.size(); ++i) {
    CHECK(own.iteration_s[i] == Approx(simgrid.iteration_s[i]).epsilon(1e-9));
  }
}

TEST_CASE(
    "A job's throughput with 1 % of slack is the exact one within 1 %, and its result says so",
    "[train][own-solver]") {
  // Each message ends at most 1 % of its time late, so that a chain of them does, too.
  constexpr double slack = 0.01;
  const Run run = run_of(GENERATE(0, 1, 2, 3));
  const int machines = GENERATE(4, 16);
  INFO(run.name << " on " << machines << " machines");
  const RunResult exact = simulate_on(run, machines, std::nullopt);
  const RunResult with_slack = simulate_on(run, machines, slack);
  const double longer = total(with_slack) / total(exact) - 1;
  CAPTURE(longer);
  CHECK(std::abs(longer) <= slack);
  CHECK(with_slack.fidelity_why.find(
            "our own solver, messages ended up to 1 % of their time late") != std::string::npos);
}

TEST_CASE("P3 has exact rates above 5000 columns while its slices are few", "[train][own-solver]") {
  // Six layers of ten slices of 50 000 elements: 60 servers get one each, so that all messages from
  // and to the 61 kinds of machines are some 2 x 61 x 60 = 7320.
  const Run run = run_of(0);
  const RunResult chosen = simulate_on(run, 64, std::nullopt, 500'000);
  CHECK(chosen.engine_flow_classes > 5000);
  CHECK(chosen.iteration_s == simulate_on(run, 64, 0, 500'000).iteration_s);
  CHECK(chosen.fidelity_why.find("of their time late") == std::string::npos);
}
