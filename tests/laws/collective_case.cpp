#include "tests/laws/collective_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "sim/cost/choice_warnings.hpp"
#include "sim/cost/collective_shape.hpp"
#include "tests/cost/engine_time.hpp"
#include "tests/scratch_folder.hpp"

namespace gradwire::test {
namespace {

using Names = std::vector<std::string_view>;

/// Links of one technology, slowest first (profiles/tables/links.yaml). Not slingshot_11, whose
/// late messages jump with their number (docs/collective_choices.md).
const std::vector<Names>& ladders() {
  static const std::vector<Names> all = {{"eth_1g", "eth_10g", "eth_25g", "eth_40g", "eth_100g"},
                                         {"ib_fdr", "ib_edr", "ib_hdr", "ib_ndr", "ib_xdr"},
                                         {"roce_100g", "roce_200g", "roce_400g"},
                                         {"ena_25g", "ena_100g"},
                                         {"efa_100g"},
                                         {"ipoib_100g"}};
  return all;
}

struct Machine {
  std::string_view name;
  int gpus;
  int nics;
};
constexpr std::array<Machine, 12> machines = {{{"dgx1_p100", 8, 4},
                                               {"dgx1v", 8, 4},
                                               {"dgx_a100", 8, 8},
                                               {"hgx_h100", 8, 8},
                                               {"hgx_h100_4gpu", 4, 4},
                                               {"hgx_b200", 8, 8},
                                               {"host_1gpu", 1, 1},
                                               {"pcie3_8x_2080ti", 8, 1},
                                               {"pcie3_8x_v100", 8, 1},
                                               {"pcie4_4x_l40", 4, 2},
                                               {"pcie4_8x_rtx3090", 8, 1},
                                               {"polaris", 4, 2}}};
constexpr std::array<std::string_view, 7> versions = {"2.4",  "2.8",  "2.12", "2.18",
                                                      "2.21", "2.26", "2.28"};
/// Payload of the fastest port of each kind, above which a link is refused, Gbit/s.
constexpr double fastest_tcp = 60;
constexpr double fastest_other = 390;
/// A host library's engine goes through every rank's flows.
constexpr int host_ranks_max = 16;

const Machine& machine_of(const CollectiveCase& one) {
  return *std::ranges::find(machines, one.node, &Machine::name);
}

bool is_tcp(const CollectiveCase& one) {
  if (one.link.empty()) return one.port_kind == "tcp";
  return one.link.starts_with("eth_") || one.link.starts_with("ena_") ||
         one.link.starts_with("ipoib_");
}

template <class Items>
auto pick(Draws& draws, const Items& items) {
  return items[static_cast<std::size_t>(draws.between(0, static_cast<int>(items.size()) - 1))];
}

std::string link_text(const CollectiveCase& one) {
  if (!one.link.empty()) return one.link;
  return fmt::format("{{kind: {}, bandwidth: {:.6g} Gbit/s, latency: {:.6g} us}}", one.port_kind,
                     one.gbit, one.latency_us);
}

std::int64_t rounder(std::int64_t size) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

void draw_network(CollectiveCase& one, int nics, Draws& draws) {
  if (draws.between(0, 2) > 0) {
    one.link = pick(draws, pick(draws, ladders()));
  } else {
    one.port_kind = pick(draws, Names{"ib", "roce", "tcp"});
    one.gbit = draws.between(5.0, one.port_kind == "tcp" ? fastest_tcp : fastest_other);
    one.latency_us = draws.between(0.5, 10.0);
  }
  one.ports = std::min(1 << draws.between(0, 3), nics);
  one.oversubscription = draws.between(0, 2) == 0 ? 1 << draws.between(0, 1) : 0;
  one.gpudirect = draws.between(0, 3) > 0;
}

std::optional<std::string> next_link(const std::string& link) {
  for (const Names& ladder : ladders()) {
    const auto found = std::ranges::find(ladder, link);
    if (found != ladder.end() && found + 1 != ladder.end()) return std::string(*(found + 1));
  }
  return std::nullopt;
}

/// The base with its network made better. @return whether there was anything to better.
bool better_network(CollectiveCase& one, const CollectiveTrial& trial) {
  switch (trial.law) {
    case CollectiveLaw::faster_link:
      if (one.link.empty()) {
        const double most = one.port_kind == "tcp" ? fastest_tcp : fastest_other;
        one.gbit = std::min(one.gbit * trial.factor, most);
        return true;
      }
      if (const auto next = next_link(one.link)) {
        one.link = *next;
        return true;
      }
      return false;
    case CollectiveLaw::more_ports:
      one.ports *= 2;
      return one.gpudirect && one.gpus == machine_of(one).gpus && one.ports <= machine_of(one).nics;
    case CollectiveLaw::lower_latency:
      one.latency_us /= trial.factor;
      return one.link.empty();
    default:
      one.gpudirect = true;
      return !is_tcp(one);
  }
}

}  // namespace

std::string yaml_of(const CollectiveCase& one) {
  std::string fabric = one.oversubscription == 0
                           ? "kind: single_switch"
                           : fmt::format(
                                 "kind: fat_tree, nodes_per_leaf: 4, oversubscription: {}, "
                                 "routing: spread",
                                 one.oversubscription);
  fabric += fmt::format(", link: {}, links_per_node: {}", link_text(one), one.ports);
  if (!one.gpudirect && !is_tcp(one)) fabric += ", gpudirect: false";
  std::string library = one.library;
  if (!one.version.empty()) library += fmt::format(", version: \"{}\"", one.version);
  return fmt::format(
      "schema: gradwire.scenario/1\n"
      "cluster: {{node: {}, gpus_per_node: {}, nodes: {}, fabric: {{{}}}}}\n"
      "collective: {{library: {}}}\n"
      "# gradwire collective FILE --op {} --sizes '{} B'\n",
      one.node, one.gpus, one.nodes, fabric, library, gradwire::name_of(one.kind), one.size);
}

std::optional<CollectivePrice> price_of(const CollectiveCase& one) {
  static const ScratchFolder folder;
  const config::Scenario scenario = config::read_scenario(folder.write(yaml_of(one), "case.yaml"),
                                                          {}, config::Needs::cluster_only)
                                        .front();
  const Bytes size{one.size};
  try {
    const std::vector<Pattern> patterns = scenario.library->plan(one.kind, scenario.placement);
    const CollectiveChoice choice = scenario.library->choose(patterns, size);
    const CollectiveCost& cost = choice.cost;
    const Pattern& pattern = patterns[choice.pattern];
    CollectivePrice price;
    price.way = cost.algorithm + " " + cost.protocol;
    if (!cost.uncontended) {
      price.taken = price.best = engine_time(*scenario.cluster, pattern, size, cost);
      return price;
    }
    const Seconds bound =
        static_cast<double>(one.size) * busiest_link_time(pattern, *scenario.cluster);
    price.taken = price.best = std::max(*cost.uncontended, bound).count();
    if (cost.faster) {
      price.best = cost.faster->time.count();
      price.faster_way = cost.faster->algorithm + " " + cost.faster->protocol;
      ChoiceWarnings choices;
      choices.add(one.kind, size, cost);
      price.is_warned = !choices.warnings().empty();
    }
    return price;
  } catch (const SimulationError&) {
    return std::nullopt;
  }
}

std::string_view name_of(CollectiveLaw law) {
  constexpr std::array<std::string_view, collective_law_count> names = {
      "a faster link",    "more ports",    "lower latency",        "gpudirect",
      "a larger message", "more machines", "more oversubscription"};
  return names.at(static_cast<std::size_t>(law));
}

namespace {

/// Whether more machines may make it faster, as docs/collective_choices.md says.
bool speeds_up_with_machines(const CollectiveCase& one) {
  if (one.library == "mpi") return true;  // pairs and odd numbers of ranks
  if (one.library == "gloo") {
    return one.kind == CollectiveKind::all_gather && one.gpus * one.nodes == 2;
  }
  return one.kind == CollectiveKind::all_to_all && one.version.starts_with("2.4");
}

}  // namespace

std::optional<CollectivePair> pair_of(const CollectiveTrial& trial) {
  CollectivePair pair{trial.base, trial.base};
  const auto times = [&](auto value) {
    return static_cast<decltype(value)>(std::llround(static_cast<double>(value) * trial.factor));
  };
  switch (trial.law) {
    case CollectiveLaw::larger_message:
      pair.worse.size = times(trial.base.size);
      return pair;
    case CollectiveLaw::more_machines:
      if (speeds_up_with_machines(trial.base)) return std::nullopt;
      pair.worse.nodes = std::max(trial.base.nodes + 1, times(trial.base.nodes));
      return pair;
    case CollectiveLaw::oversubscription:
      if (trial.base.oversubscription == 0 || trial.base.nodes <= 4) return std::nullopt;
      pair.worse.oversubscription *= 2;
      return pair;
    default:
      if (trial.base.nodes == 1) return std::nullopt;
      if (trial.law == CollectiveLaw::gpudirect) pair.worse.gpudirect = false;
      if (!better_network(pair.better, trial)) return std::nullopt;
      return pair;
  }
}

CollectiveTrial random_trial(std::uint64_t seed) {
  Draws draws(seed);
  CollectiveTrial trial;
  CollectiveCase& one = trial.base;
  const Machine machine = pick(draws, machines);
  one.node = machine.name;
  one.gpus = draws.between(0, 2) > 0 ? machine.gpus : draws.between(1, machine.gpus);
  one.nodes = draws.between(0, 7) == 0
                  ? 1
                  : static_cast<int>(std::llround(std::exp2(draws.between(1.0, 5.0))));
  draw_network(one, machine.nics, draws);
  one.size = static_cast<std::int64_t>(std::exp2(draws.between(8.0, 30.0)));
  one.kind = pick(
      draws, std::vector<CollectiveKind>{CollectiveKind::all_reduce, CollectiveKind::all_reduce,
                                         CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                         CollectiveKind::all_gather, CollectiveKind::broadcast,
                                         CollectiveKind::all_to_all});
  one.version = pick(draws, versions);
  if (one.nodes * one.gpus <= host_ranks_max && draws.between(0, 3) == 0) {
    one.library = draws.between(0, 1) == 0 ? "gloo" : "mpi";
    one.version.clear();
  }
  trial.law = static_cast<CollectiveLaw>(draws.between(0, collective_law_count - 1));
  trial.factor = draws.between(1.1, 4.0);
  if (one.nodes * one.gpus == 1) one.nodes = 2;
  return trial;
}

std::vector<CollectiveTrial> simpler(const CollectiveTrial& trial) {
  std::vector<CollectiveTrial> all;
  const auto add = [&](auto change) {
    CollectiveTrial other = trial;
    change(other);
    if (other.base.nodes * other.base.gpus > 1) all.push_back(other);
  };
  if (trial.base.nodes > 2) {
    add([](CollectiveTrial& other) { other.base.nodes = 2; });
    add([](CollectiveTrial& other) { other.base.nodes = (other.base.nodes + 1) / 2; });
    add([](CollectiveTrial& other) { --other.base.nodes; });
  }
  if (trial.base.gpus > 1) {
    add([](CollectiveTrial& other) { other.base.gpus = 1; });
    add([](CollectiveTrial& other) { other.base.gpus = (other.base.gpus + 1) / 2; });
  }
  if (trial.base.size != rounder(trial.base.size)) {
    add([](CollectiveTrial& other) { other.base.size = rounder(other.base.size); });
  }
  if (trial.factor != 2) add([](CollectiveTrial& other) { other.factor = 2; });
  if (trial.base.ports > 1) add([](CollectiveTrial& other) { other.base.ports = 1; });
  if (trial.base.oversubscription > 0 && trial.law != CollectiveLaw::oversubscription) {
    add([](CollectiveTrial& other) { other.base.oversubscription = 0; });
  }
  return all;
}

}  // namespace gradwire::test
