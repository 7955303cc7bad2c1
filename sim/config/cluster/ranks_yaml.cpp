#include "sim/config/cluster/ranks_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gradwire::config {
namespace {

constexpr int iterations_max = 1'000'000;
constexpr double straggler_compute_max = 1e6;
/// Samples a second.
constexpr Range<double> input_rates{{}, 1e-3, {}, "one sample in a quarter of an hour"};

/// Ranks by number; how many there are is known with the cluster.
ValueInfo rank_list() {
  return list_of(value_info(at_least(0)));
}

/// Static spread of speed between GPUs of one type, where a scenario says nothing of jitter: 8 % on
/// average over five clusters (Sinha et al., Not All GPUs Are Created Equal, SC 2022, abstract), in
/// our reading the range between a box plot's whiskers, 5.4 sigma of a normal law. A lone GPU is
/// the median one.
constexpr double usual_rank_spread = 0.0148;

/// How much longer compute takes beside other ranks of the job on a machine, where a scenario says
/// nothing of jitter. Fitted: of the 51 set-ups of blind.yaml to blind7.yaml (results/reference)
/// that tell one GPU's rate, the median of what several on one machine lose beyond all else (each
/// set-up by the median of its rows; 90 % of bootstrapped medians lie between 1.7 and 3.3 %). It
/// grows neither with the GPUs (2, 4, 8: 3.0, 2.8, 2.4 %) nor with shorter iterations.
constexpr double usual_several_gpus = 0.024;

/// How the times of equal messages between workers and a server differ. Our measurements
/// (2026-11-23, Linux 6.18): one TCP connection from each of 8 network namespaces to another, tbf
/// at 1 Gbit/s each way, one message after the other for 12 to 20 s; deviation over mean of all of
/// them, from the server and to it: 4 MB CUBIC 8 and 36 %, Reno 65 and 46 %, BBR 77 and 74 %; 16 MB
/// CUBIC from it 15 %, Reno 61 and 40 %. Their mean; other networks are assumed to be alike.
constexpr double usual_message_spread = 0.47;

std::vector<int> read_rank_list(YamlMap& map, int world_size) {
  auto ranks = map.list<int>("ranks", between(0, world_size - 1));
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size()) {
    map.fail("ranks", "'ranks' names a rank twice; expected each once");
  }
  return ranks;
}

StragglerSpec read_straggler(YamlMap map, int world_size) {
  StragglerSpec straggler;
  straggler_fields().read(map, straggler);
  straggler.ranks = read_rank_list(map, world_size);
  if (straggler.ranks.empty() == !map.has("fraction")) {
    throw ConfigError(map.where(),
                      "a straggler needs 'ranks' or 'fraction'; expected one of the two");
  }
  map.finish();
  return straggler;
}

/// @param listed  ranks of earlier entries; gets this one's.
InputSpec read_inputs(YamlMap map, const Scenario& scenario, std::set<int>& listed) {
  const int all = scenario.run.warmup + scenario.run.iterations;
  InputSpec inputs;
  inputs_fields().read(map, inputs);
  inputs.iterations = map.require<int>("iterations", between(1, all));
  inputs.ranks = read_rank_list(map, static_cast<int>(scenario.placement.size()));
  if (inputs.ranks.empty()) map.fail("ranks", "'ranks' is empty; expected one at least");
  for (const int rank : inputs.ranks) {
    if (!listed.insert(rank).second) {
      map.fail("ranks", fmt::format("rank {} stands in two entries of 'uneven_inputs'; expected "
                                    "each once",
                                    rank));
    }
  }
  map.finish();
  return inputs;
}

void read_uneven_inputs(YamlMap& map, Scenario& scenario) {
  std::set<int> listed;
  int longest = 0;
  for (YamlMap& entry : map.maps("uneven_inputs")) {
    scenario.uneven_inputs.push_back(read_inputs(std::move(entry), scenario, listed));
    longest = std::max(longest, scenario.uneven_inputs.back().iterations);
  }
  if (listed.size() == scenario.placement.size() &&
      longest < scenario.run.warmup + scenario.run.iterations) {
    map.fail("uneven_inputs",
             fmt::format("all ranks have run out of inputs behind iteration {} of {}, warm-up "
                         "included; expected one with as many",
                         longest, scenario.run.warmup + scenario.run.iterations));
  }
}

}  // namespace

const Fields<RunSpec>& run_fields() {
  static const Fields<RunSpec> fields = {
      "run",
      "how many iterations, from which seed",
      {field("iterations", &RunSpec::iterations, "measured ones", between(1, iterations_max),
             "50; `compare`: 4, and 20 of asynchronous workers"),
       field("warmup", &RunSpec::warmup, "dropped before them", between(0, iterations_max),
             "5; `compare`: 2, and 5 of asynchronous workers"),
       field("seed", &RunSpec::seed, "of all that is random"),
       choice("phases", &RunSpec::all_phases, {{"steady", false}, {"all", true}},
              "of strategies with a warm-up or a switch: `steady` (the phase that lasts), `all` "
              "(from the first iteration)"),
       choice("start", &RunSpec::start_apart, {{"apart", true}, {"together", false}},
              "how asynchronous workers begin"),
       word(
           "fidelity", &RunSpec::fidelity, {"auto", "fluid", "step", "coupled", "bracket"},
           "`fluid`: a flow for flows that are alike; `coupled`: a ring goes as one; `step`: every "
           "message; `bracket`: `fluid` and `coupled`, and the interval holds both"),
       field("ignore_memory", &RunSpec::ignore_memory,
             "predict what does not fit a GPU's memory, too (`--ignore-memory`)"),
       field("input_rate", &RunSpec::input_rate,
             "samples a second that the input pipeline of a machine (a DataLoader, tf.data, DALI) "
             "makes for all its GPUs, when no GPU makes it wait",
             input_rates, "as many as they take")}};
  return fields;
}

const Fields<JitterSpec>& jitter_fields() {
  const auto all = between(Ratio{0}, Ratio{1});
  static const Fields<JitterSpec> fields = {
      "jitter",
      "how unequal GPUs and iterations are: standard deviations",
      {share("rank", &JitterSpec::rank, "of speed between GPUs of one type", all,
             "1.48 % without `jitter`, 0 % once `jitter` is there"),
       share("several_gpus", &JitterSpec::several_gpus,
             "longer that compute takes where other ranks of the job are on the machine: what "
             "they share and no scenario says (power, heat, the host)",
             all, "2.4 % without `jitter`, 0 % once `jitter` is there"),
       share("iteration", &JitterSpec::iteration, "of an iteration, common to its layers", all,
             "the profile's"),
       share("layer", &JitterSpec::layer, "of a layer's time", all,
             "each layer's, from the profile"),
       share("message", &JitterSpec::message,
             "of the time that equal messages take from one iteration to the next, which "
             "independent workers (`ps_async`, `ssp`, pair averaging, asynchronous BytePS) "
             "exchange with servers or peers; it lets their phases drift, so that these "
             "decide nothing",
             all, "47 %, measured")}};
  return fields;
}

const Fields<StragglerSpec>& straggler_fields() {
  static const Fields<StragglerSpec> fields = {
      "stragglers",
      "ranks that are slower",
      {field("compute", &StragglerSpec::compute, "times as long as compute takes",
             {.above = 0, .least = {}, .most = straggler_compute_max}, required),
       {{"ranks", "this or fraction", "which ones", rank_list()}},
       share("fraction", &StragglerSpec::fraction,
             "of all ranks, at least one rank unless 0 %; the seed chooses",
             between(Ratio{0}, Ratio{1}), "this or ranks")}};
  return fields;
}

const Fields<InputSpec>& inputs_fields() {
  static const Fields<InputSpec> fields = {
      "uneven_inputs",
      "ranks whose inputs end before the others'",
      {{{"iterations", required,
         "of the run that they have inputs for, warm-up included; some rank has them to its end",
         value_info(at_least(1))}},
       {{"ranks", required,
         "each in one entry at most. Under DDP's `join: true` they shadow the others once their "
         "inputs have ended: collectives go on with them, their forward, backward and optimizer do "
         "not; throughput counts the samples of those that compute. Other strategies are refused: "
         "their ranks would wait for ever",
         rank_list()}}}};
  return fields;
}

/// A `jitter` that is there says all: what it does not name is the profile's, but for `rank`, 0,
/// and `message`, the usual one.
void read_ranks(YamlMap& map, Scenario& scenario) {
  if (scenario.profile) scenario.jitter.iteration = scenario.profile->factor_stdev;
  scenario.jitter.message = usual_message_spread;
  if (auto jitter = map.optional_map("jitter")) {
    jitter_fields().read_all(*jitter, scenario.jitter);
  } else {
    scenario.jitter.rank = usual_rank_spread;
    scenario.jitter.several_gpus = usual_several_gpus;
  }
  for (auto& straggler : map.maps("stragglers")) {
    scenario.stragglers.push_back(
        read_straggler(straggler, static_cast<int>(scenario.placement.size())));
  }
  read_uneven_inputs(map, scenario);
}

}  // namespace gradwire::config
