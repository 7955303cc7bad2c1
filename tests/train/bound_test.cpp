#include <numeric>

#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// `none` is the bound: it computes and updates, and nobody waits for anybody. A rank of FSDP
// updates its shard only (Rajbhandari et al., ZeRO, SC 2020, section 5.1): its bound has that part
// of the optimizer.

using namespace gradwire;
using namespace gradwire::test;

namespace {

double mean_iteration(const ToyTraining& toy, const config::StrategyEntry& entry,
                      const JitterSpec& jitter) {
  config::KnobList defaults;
  const auto strategy = entry.read(defaults);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter = jitter;
  if (entry.flags.servers) job.servers = {toy.placement.back().node};
  const auto times = simulate(job).iteration_s;
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

TEST_CASE("no strategy trains faster than ranks that never talk", "[train][bound]") {
  const int gpus = GENERATE(1, 2, 8);
  const int machines = GENERATE(1, 2);
  const double rate = GENERATE(2e9, 500e9);
  const double spread = GENERATE(0.0, 0.05);
  const JitterSpec jitter{
      .rank = spread / 2, .iteration = spread, .layer = spread / 2, .message = 6 * spread};
  ToyTraining toy(gpus, machines, BytesPerSecond{rate});
  toy.cost = std::make_shared<AlphaBeta>(1e9 / rate);
  const auto& none = *config::find_strategy("none");
  const double bound = mean_iteration(toy, none, jitter);
  for (const auto& entry : config::strategy_catalogue()) {
    INFO(entry.name << " on " << machines << " x " << gpus << " GPUs, links of " << rate / 1e9
                    << " GB/s, jitter " << spread);
    const bool shards = entry.name == "deepspeed" || entry.name == "diloco" ||
                        entry.name == "megatron" || entry.name == "fsdp" || entry.name == "fsdp2" ||
                        entry.name == "hsdp";
    const double saved = shards ? toy.profile.optimizer.count() * (1 - 1.0 / gpus / machines) : 0;
    CHECK(mean_iteration(toy, entry, jitter) >= (bound - saved) * (1 - 1e-9));
  }
}

TEST_CASE("ranks that never talk are as fast as the mean of their GPUs", "[train][bound]") {
  // 19 ms a GPU, 38 one of two: 1 / 19 + 1 / 38 iterations a ms, two an iteration of the job.
  ToyTraining toy(2, 1);
  config::KnobList defaults;
  const auto strategy = config::find_strategy("none")->read(defaults);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.stragglers = {{.ranks = {0}, .fraction = 0, .compute = 2}};
  for (const double seconds : simulate(job).iteration_s) {
    CHECK(1e3 * seconds == Approx(2 / (1 / 19. + 1 / 38.)));
  }
}
