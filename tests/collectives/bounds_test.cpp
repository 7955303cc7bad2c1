// What no collective may do on any network: move bytes faster than the wires, or gain from more
// bytes, more latency or less bandwidth.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/data_flow.hpp"
#include "tests/collectives/random_cluster.hpp"

namespace gradwire {
namespace {

constexpr int seeds = 120;
constexpr double rounding = 1e-9;

/// Fair shares are not monotonic link by link: with faster ports alone one flow may take from
/// another on a link behind them. Measured: 1e-6 once in all (pairwise, seed 2).
constexpr double fair_shares = 1e-5;

/// NCCL's constants are of whole hops: what the links have of a hop's latency is taken off them. Of
/// two hops of one kind the one with less latency then gains when both grow: measured 6.6 % at most
/// with the ring model for collectives that it was not fitted to, 0.6 % for all_reduce.
constexpr double nccl_hops = 0.07;

/// Behind the wire's time copies within Open MPI's machines are hidden. It is taken as that of the
/// busiest link, flows that share unequal links may end later: measured 0.12 % at most with faster
/// ports.
constexpr double mpi_hidden = 2e-3;

/// From a byte to a tebibyte.
const std::vector<Bytes> sizes = {Bytes{1},           Bytes{3000},
                                  Bytes{100'000},     Bytes{3'000'000},
                                  Bytes{100'000'000}, Bytes{std::int64_t{1} << 40}};

/// Gloo's reduce has one latency of a step for its two phases, whose hops may be of different
/// kinds: what a larger size takes off it is 0.5 % of the time at most.
constexpr double gloo_reduce = 0.006;

/// Of Gloo's broadcast, whose whole messages are sent on: over faster links two may meet that came
/// one after the other, and share where they meet, as they do message by message. Measured: 0.7 %,
/// once in all (seed 78, factor 2).
constexpr double gloo_broadcast = 0.01;

double slack_of(const std::string& what) {
  if (what.starts_with("library: mpi")) return mpi_hidden;
  return what == "library: gloo reduce" ? gloo_reduce : rounding;
}

/// One way to do a collective: for each size a pattern and its cost.
struct Way {
  std::vector<Pattern> patterns;
  std::vector<CollectiveChoice> choices;  ///< by size
};

/// Do both go the same way? A library that switches to another algorithm or protocol by its own
/// rule may well lose by it, as the original does.
bool is_same_way(const Way& a, std::size_t size_a, const Way& b, std::size_t size_b) {
  const CollectiveCost& cost_a = a.choices[size_a].cost;
  const CollectiveCost& cost_b = b.choices[size_b].cost;
  return a.choices[size_a].pattern == b.choices[size_b].pattern &&
         cost_a.algorithm == cost_b.algorithm && cost_a.protocol == cost_b.protocol;
}

/// Seconds of each size, alone, one after the other on one engine.
std::vector<double> times(const Cluster& cluster, const Way& way,
                          Fidelity fidelity = Fidelity::fluid) {
  EngineOptions options;
  options.fidelity = fidelity;
  options.slack = 0;  // SimGrid would allow only one engine in this program
  options.one_at_a_time = true;
  const auto engine = make_engine(cluster, way.patterns, options);
  std::vector<double> result;
  double begin = 0;
  const auto start = [&](std::size_t index) {
    const CollectiveChoice& choice = way.choices[index];
    engine->network().start(static_cast<TransferId>(index), static_cast<PatternId>(choice.pattern),
                            sizes[index], choice.cost);
  };
  engine->at(Seconds{}, [&] { start(0); });
  engine->run([&](TransferId, Seconds now) {
    result.push_back(now.count() - begin);
    begin = now.count();
    if (result.size() < sizes.size()) start(result.size());
  });
  return result;
}

/// Every way that there is on this cluster: each algorithm by itself, without any cost but that of
/// the links, and each library. Keyed by what it is.
std::map<std::string, Way> all_ways(const test::RandomCluster& on) {
  std::map<std::string, Way> ways;
  for (const Algorithm& algorithm : algorithms()) {
    for (const AlgorithmVariant& variant : algorithm.variants) {
      try {
        Way way{{variant.plan(*on.cluster, on.members)},
                std::vector<CollectiveChoice>(sizes.size())};
        ways.emplace(std::string(algorithm.name) + ' ' + std::string(name_of(variant.kind)),
                     std::move(way));
      } catch (const SimulationError&) {
        continue;  // not on these machines
      }
    }
  }
  for (const auto& entry : config::collective_catalogue()) {
    std::string library = "library: " + entry.name;
    if (entry.name == "user") library += ", alpha: 20 us, bandwidth: 10 GB/s";
    const auto yaml = config::parse_yaml("collective: {" + library + "}", "bounds_test");
    config::YamlMap map(yaml, "scenario");
    std::vector<Warning> warnings;
    const auto read = config::read_collective(map, on.cluster, warnings);
    for (const CollectiveKind kind : collective_kinds()) {
      Way way;
      try {
        way.patterns = read->plan(kind, on.members);
      } catch (const SimulationError&) {
        continue;  // the library does not do it
      }
      for (const Bytes size : sizes) way.choices.push_back(read->choose(way.patterns, size));
      ways.emplace(library + ' ' + std::string(name_of(kind)), std::move(way));
    }
  }
  return ways;
}

/// Bytes per second that can leave a set of ranks, and come in.
struct Cut {
  std::set<int> ranks;
  double out = 0;
  double in = 0;
};

/// Each GPU by its own links, and each machine's ranks by its ports. Told from the description of
/// the machines, not from routes.
std::vector<Cut> cuts_of(const test::RandomCluster& on) {
  std::vector<Cut> cuts;
  std::map<int, Cut> machines;
  for (std::size_t rank = 0; rank < on.members.size(); ++rank) {
    const auto [node_index, gpu] = on.members[rank];
    const NodeGraph& node = on.cluster->node(node_index);
    Cut cut;
    cut.ranks.insert(static_cast<int>(rank));
    const DeviceId device = node.gpus()[static_cast<std::size_t>(gpu)];
    for (const auto& edge : node.graph().out_edges(device)) {
      cut.out += node.graph()[edge].bandwidth.count();
    }
    for (const auto& edge : node.graph().edges()) {
      if (edge.target == device) cut.in += node.graph()[edge].bandwidth.count();
    }
    cuts.push_back(cut);
    machines[node_index].ranks.insert(static_cast<int>(rank));
  }
  if (machines.size() == 1) return cuts;
  for (auto& [node, cut] : machines) {
    for (std::size_t nic = 0; nic < on.cluster->node(node).nics().size(); ++nic) {
      const int port = on.cluster->port_of(node, static_cast<int>(nic));
      const double rate = on.cluster->fabric().port_spec(port).bandwidth.count();
      cut.out += rate;
      cut.in += rate;
    }
    cuts.push_back(cut);
  }
  return cuts;
}

/// Shares of the size that must at least leave a set of a ranks out of n, and come into it.
struct Need {
  double out = 0;
  double in = 0;
};

/// Whatever the algorithm:
/// - all_reduce: others need the set's sum of every element, and it theirs: 1 and 1;
/// - reduce_scatter: the n-a parts of the others need the set's sums; its a parts theirs;
/// - all_gather: the same the other way round;
/// - broadcast: all to a set without the root, all from one with it; reduce the other way round;
/// - all_to_all: a part of 1/n for each pair, one in and one out of the set;
/// - gather: the set's a parts, or the n-a parts of the others for the root; scatter the other way;
/// - send_recv: a whole message for each rank whose next one is on the other side.
Need need_of(CollectiveKind kind, const std::set<int>& set, int ranks) {
  const auto inside = static_cast<double>(set.size());
  const double outside = ranks - inside;
  const bool has_root = set.contains(0);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return {1, 1};
    case CollectiveKind::reduce_scatter:
      return {outside / ranks, inside / ranks};
    case CollectiveKind::all_gather:
      return {inside / ranks, outside / ranks};
    case CollectiveKind::broadcast:
      return has_root ? Need{1, 0} : Need{0, 1};
    case CollectiveKind::reduce:
      return has_root ? Need{0, 1} : Need{1, 0};
    case CollectiveKind::all_to_all:
      return {inside * outside / ranks, inside * outside / ranks};
    case CollectiveKind::gather:
      return has_root ? Need{0, outside / ranks} : Need{inside / ranks, 0};
    case CollectiveKind::scatter:
      return has_root ? Need{outside / ranks, 0} : Need{0, inside / ranks};
    case CollectiveKind::send_recv: {
      Need need;
      for (const int rank : set) {
        if (!set.contains((rank + 1) % ranks)) ++need.out;
        if (!set.contains((rank + ranks - 1) % ranks)) ++need.in;
      }
      return need;
    }
  }
  return {};
}

/// Seconds per byte below which no cut lets the collective pass.
double seconds_per_byte(CollectiveKind kind, const test::RandomCluster& on) {
  const auto ranks = static_cast<int>(on.members.size());
  double bound = 0;
  for (const Cut& cut : cuts_of(on)) {
    const Need need = need_of(kind, cut.ranks, ranks);
    bound = std::max({bound, need.out / cut.out, need.in / cut.in});
  }
  return bound;
}

/// What a rank alone must send on average: n-1 messages of every element to sum it up, as many to
/// hand the sum out. Holds where ranks, not switches, do the sums.
double seconds_per_byte_of_all(const test::RandomCluster& on) {
  double out = 0;
  for (const Cut& cut : cuts_of(on)) {
    if (cut.ranks.size() == 1) out += cut.out;
  }
  return 2 * (static_cast<double>(on.members.size()) - 1) / out;
}

}  // namespace

TEST_CASE("No collective beats the wires of its bottleneck", "[collectives][bounds]") {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::RandomCluster on = test::random_cluster(seed);
    for (const auto& [what, way] : all_ways(on)) {
      const std::vector<double> taken = times(*on.cluster, way);
      const CollectiveKind kind = way.patterns.front().kind;
      const double bound = seconds_per_byte(kind, on);
      INFO("seed " << seed << ", " << what);
      REQUIRE(bound > 0);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double wires = bound * static_cast<double>(sizes[i].count());
        if (taken[i] < wires * (1 - rounding)) FAIL_CHECK(taken[i] << " < " << wires);
        ++compared;
      }
    }
  }
  CHECK(compared >= seeds * 30 * 6);
}

TEST_CASE("All-reduce among ranks that do the sums sends 2(n-1) times the size",
          "[collectives][bounds]") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::RandomCluster on = test::random_cluster(seed);
    for (const auto& [what, way] : all_ways(on)) {
      if (way.patterns.front().kind != CollectiveKind::all_reduce) continue;
      const bool is_by_ranks = std::ranges::none_of(way.patterns, [](const Pattern& pattern) {
        return test::switches_reduce(pattern.algorithm);
      });
      if (!is_by_ranks) continue;
      INFO("seed " << seed << ", " << what);
      const std::vector<double> taken = times(*on.cluster, way);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        CHECK(taken[i] >=
              seconds_per_byte_of_all(on) * static_cast<double>(sizes[i].count()) * (1 - rounding));
      }
    }
  }
}

TEST_CASE("A collective alone takes what its messages take one by one", "[collectives][bounds]") {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::RandomCluster on = test::random_cluster(seed);
    for (const auto& [what, way] : all_ways(on)) {
      const std::vector<double> taken = times(*on.cluster, way);
      const std::vector<double> by_message = times(*on.cluster, way, Fidelity::step);
      INFO("seed " << seed << ", " << what);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        CHECK(by_message[i] == Approx(taken[i]).epsilon(rounding));
        ++compared;
      }
    }
  }
  CHECK(compared >= seeds * 30 * 6);
}

TEST_CASE("More bytes never take less time", "[collectives][bounds]") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::RandomCluster on = test::random_cluster(seed);
    for (const auto& [what, way] : all_ways(on)) {
      INFO("seed " << seed << ", " << what);
      const std::vector<double> taken = times(*on.cluster, way);
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        if (!is_same_way(way, i, way, i - 1)) continue;
        CHECK(taken[i] >= taken[i - 1] * (1 - slack_of(what)));
      }
    }
  }
}

TEST_CASE("More latency never takes less time, and more bandwidth never more",
          "[collectives][bounds][long]") {
  const bool is_ports = GENERATE(false, true);  // of the ports alone, or of every link
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double factor = 1 + static_cast<double>(seed % 7);
    const test::RandomCluster on = test::random_cluster(seed);
    const test::RandomCluster later = test::random_cluster(
        seed, is_ports ? test::Scaling{.port_latency = factor} : test::Scaling{.latency = factor});
    const test::RandomCluster faster =
        test::random_cluster(seed, is_ports ? test::Scaling{.port_bandwidth = factor}
                                            : test::Scaling{.bandwidth = factor});
    const auto ways = all_ways(on);
    const auto ways_later = all_ways(later);
    const auto ways_faster = all_ways(faster);
    for (const auto& [what, way] : ways) {
      INFO("seed " << seed << ", " << what << ", factor " << factor);
      const std::vector<double> taken = times(*on.cluster, way);
      const std::vector<double> taken_later = times(*later.cluster, ways_later.at(what));
      const std::vector<double> taken_faster = times(*faster.cluster, ways_faster.at(what));
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double slack = what.starts_with("library: nccl") ? nccl_hops : slack_of(what);
        if (is_same_way(way, i, ways_later.at(what), i)) {
          CHECK(taken_later[i] >= taken[i] * (1 - slack));
        }
        if (is_same_way(way, i, ways_faster.at(what), i)) {
          const double shares = what == "library: gloo broadcast" ? gloo_broadcast
                                : is_ports                        ? fair_shares
                                                                  : rounding;
          CHECK(taken_faster[i] <= taken[i] * (1 + std::max(slack_of(what), shares)));
        }
      }
    }
  }
}

TEST_CASE("Time is latency for no bytes and bytes over bandwidth for very many",
          "[collectives][bounds][long]") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const test::RandomCluster on = test::random_cluster(seed);
    const test::RandomCluster later = test::random_cluster(seed, {.latency = 3});
    const test::RandomCluster faster = test::random_cluster(seed, {.bandwidth = 3});
    const auto ways_later = all_ways(later);
    const auto ways_faster = all_ways(faster);
    for (const auto& [what, way] : all_ways(on)) {
      if (what.starts_with("library")) continue;  // their own constants count beside the links'
      INFO("seed " << seed << ", " << what);
      const std::vector<double> taken = times(*on.cluster, way);
      // A byte: three times the latency, three times the time. A tebibyte, the same with bandwidth.
      // Each way the other term is below 1e-3 of the time.
      CHECK(times(*later.cluster, ways_later.at(what)).front() ==
            Approx(3 * taken.front()).epsilon(2e-3));
      CHECK(times(*faster.cluster, ways_faster.at(what)).back() ==
            Approx(taken.back() / 3).epsilon(2e-3));
    }
  }
}

}  // namespace gradwire
