// Whose iterations repeat where GPUs are unequal and draws do not vary, and why others' do not.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/train/repeats.hpp"
#include "strategies/horovod/horovod_queue.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr int warmup = 4;
constexpr int measured = 36;
/// Between GPUs of one type, by default (docs/scenario.md).
constexpr JitterSpec unequal = {.rank = 0.0148};

/// Two machines of two GPUs.
ToyTraining two_machines(int iterations = measured) {
  auto toy = ToyTraining::networked(2, 2, BytesPerSecond{1e9});
  toy.warmup = warmup;
  toy.iterations = iterations;
  return toy;
}

/// Of a strategy with its knobs, with a server on each machine where it has some.
RunResult run(const std::string& strategy, const JitterSpec& jitter,
              ToyTraining toy = two_machines()) {
  const config::YamlValue document = config::parse_yaml("{name: " + strategy + "}", "s.yaml");
  config::YamlMap map(document);
  const auto* entry = config::find_strategy(map.require<std::string>("name"));
  if (entry->flags.servers) toy.servers = {0, 1};
  config::YamlKnobs knobs(std::move(map));
  std::string left_out;
  const auto made = config::read_strategy(*entry, knobs, &left_out);
  const auto library = toy.library();
  Job job = toy.job(made, library);
  job.jitter = jitter;
  return simulate(job);
}

int iterations_run(const RunResult& result) {
  return result.engine_cost.iterations_run;
}

/// Whether each length is that of so many iterations before, to what Repeats calls the same.
bool has_period(const std::vector<double>& lengths, std::size_t period) {
  for (std::size_t i = period; i < lengths.size(); ++i) {
    if (std::abs(lengths[i] - lengths[i - period]) > Repeats::same_time * lengths[i]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("with unequal GPUs a strategy's iterations are counted as soon as they repeat",
          "[train][repeats][catalogue]") {
  // Local SGD and Horovod, of a period of 4, need most: one that is unlike, and then three periods
  // at most.
  constexpr int most = 13;
  const std::map<std::string, std::string> reasons = {
      {"none", "each worker goes on by itself"},
      {"ps_async", "workers drift apart, see below"},
      {"ssp", "workers drift apart, see below"},
      {"kungfu_pair_averaging", "peers are drawn"},
      {"lb_sgd", "fast ranks' lead still grows, see below"},
      {"kungfu_sma", "fast ranks' lead still grows, see below"},
      {"diloco", "its period is 500 iterations"}};
  for (const auto& entry : config::strategy_catalogue()) {
    const int ran = iterations_run(run(entry.name, unequal));
    INFO(entry.name << " ran " << ran);
    const bool repeats = !reasons.contains(entry.name);
    CHECK(ran <= (repeats ? most : warmup + measured));
    CHECK((ran < warmup + measured) == repeats);
  }
}

TEST_CASE("draws that vary make every iteration one of its own", "[train][repeats]") {
  for (const std::string strategy : {"ddp", "byteps", "p3", "ps_sync"}) {
    INFO(strategy);
    const RunResult result = run(strategy, {.rank = unequal.rank, .iteration = 0.01});
    CHECK(iterations_run(result) == warmup + measured);
    std::vector<double> lengths = result.iteration_s;
    std::ranges::sort(lengths);
    const auto same = std::ranges::adjacent_find(
        lengths, [](double a, double b) { return std::abs(a - b) <= Repeats::same_time * b; });
    CHECK(same == lengths.end());
  }
}

TEST_CASE("asynchronous workers of unequal speed never stand to each other as before",
          "[train][repeats]") {
  for (const std::string strategy : {"ps_async", "ssp"}) {
    const RunResult result = run(strategy, unequal);  // messages do not vary
    for (std::size_t period = 1; period <= measured / 3; ++period) {
      INFO(strategy << ", period " << period);
      CHECK_FALSE(has_period(result.iteration_s, period));
    }
  }
}

TEST_CASE("Horovod's iterations repeat after as many as there are parts of its cycle",
          "[train][repeats]") {
  for (const JitterSpec& jitter : {unequal, JitterSpec{}}) {
    const RunResult result = run("horovod, cycle_time: 1 ms", jitter);
    CHECK(iterations_run(result) == 3 * HorovodQueue::parts);
    CHECK(has_period(result.iteration_s, HorovodQueue::parts));
  }
}

TEST_CASE("ranks that may run ahead repeat once their lead has reached its bound",
          "[train][repeats]") {
  // The fastest of four is 3.1 % faster than the slowest: an iteration ahead after some 33.
  constexpr int long_run = 200;
  for (const std::string strategy : {"lb_sgd", "kungfu_sma"}) {
    const RunResult result = run(strategy, unequal, two_machines(long_run));
    INFO(strategy << " ran " << iterations_run(result));
    CHECK(iterations_run(result) > warmup + measured);
    CHECK(iterations_run(result) < warmup + long_run);
  }
}
