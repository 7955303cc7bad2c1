#include "sim/config/ranks_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gradwire::config {
namespace {

constexpr double straggler_compute_max = 1e6;

/// Static spread of speed between GPUs of one type, where a scenario says nothing of jitter: 8 % on
/// average over five clusters (Sinha et al., Not All GPUs Are Created Equal, SC 2022, abstract), in
/// our reading the range between a box plot's whiskers, 5.4 sigma of a normal law. A lone GPU is
/// the median one.
constexpr double usual_rank_spread = 0.0148;

/// How the times of equal messages between workers and a server differ. Our measurements
/// (2026-11-23, Linux 6.18): one TCP connection from each of 8 network namespaces to another, tbf
/// at 1 Gbit/s each way, one message after the other for 12 to 20 s; deviation over mean of all of
/// them, from the server and to it: 4 MB CUBIC 8 and 36 %, Reno 65 and 46 %, BBR 77 and 74 %; 16 MB
/// CUBIC from it 15 %, Reno 61 and 40 %. Their mean; other networks are assumed to be alike.
constexpr double usual_message_spread = 0.47;

/// One that is there says all: what it does not name is the profile's, but for `rank`, 0, and
/// `message`, the usual one.
void read_jitter(YamlMap map, JitterSpec& jitter) {
  const auto share = between(Ratio{0}, Ratio{1});
  jitter.rank = map.value_or("rank", Ratio{jitter.rank}, share).value;
  jitter.iteration = map.value_or("iteration", Ratio{jitter.iteration}, share).value;
  if (const auto layer = map.optional<Ratio>("layer", share)) jitter.layer = layer->value;
  jitter.message = map.value_or("message", Ratio{jitter.message}, share).value;
  map.finish();
}

std::vector<int> read_rank_list(YamlMap& map, int world_size) {
  auto ranks = map.list<int>("ranks", between(0, world_size - 1));
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size()) {
    map.fail("ranks", "'ranks' names a rank twice; expected each once");
  }
  return ranks;
}

StragglerSpec read_straggler(YamlMap map, int world_size) {
  StragglerSpec straggler;
  straggler.compute =
      map.require<double>("compute", {.above = 0, .least = {}, .most = straggler_compute_max});
  straggler.ranks = read_rank_list(map, world_size);
  if (const auto fraction = map.optional<Ratio>("fraction", between(Ratio{0}, Ratio{1}))) {
    straggler.fraction = fraction->value;
  }
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

void read_ranks(YamlMap& map, Scenario& scenario) {
  if (scenario.profile) scenario.jitter.iteration = scenario.profile->factor_stdev;
  scenario.jitter.message = usual_message_spread;
  if (auto jitter = map.optional_map("jitter")) {
    read_jitter(*jitter, scenario.jitter);
  } else {
    scenario.jitter.rank = usual_rank_spread;
  }
  for (auto& straggler : map.maps("stragglers")) {
    scenario.stragglers.push_back(
        read_straggler(straggler, static_cast<int>(scenario.placement.size())));
  }
  read_uneven_inputs(map, scenario);
}

}  // namespace gradwire::config
