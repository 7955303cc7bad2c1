#include "sim/cost/nccl_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/machines.hpp"
#include "sim/collectives/planners.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/parallel.hpp"
#include "sim/core/refusal.hpp"
#include "sim/cost/nccl_kernel.hpp"
#include "sim/cost/nccl_measured.hpp"
#include "sim/cost/nccl_messages.hpp"
#include "sim/cost/nccl_names.hpp"
#include "sim/cost/nccl_speeds.hpp"

namespace gradwire {
namespace {

/// Patterns of fewer ranks are not folded: they are refined, and need all their flows.
constexpr std::size_t folded_ranks_min = 512;
/// Of so many, several patterns are planned, and examined, at once: one takes some 100 ns a rank, a
/// thread some 10 us to be called.
constexpr std::size_t shared_ranks_min = 4096;

/// Row of NcclByArchitecture: up to 2.17 compute capability 8.0 alone is Ampere.
int architecture(const NcclConstants& constants, const NcclFacts& facts) {
  const int capability = facts.capability_min;
  constexpr int first_with_rows = 18;
  if (constants.first_minor < first_with_rows) {
    return capability == ampere_capability && facts.capability_max == ampere_capability ? 1 : 0;
  }
  if (capability >= blackwell_capability) return 3;
  if (capability >= hopper_capability) return 2;
  return capability >= ampere_capability ? 1 : 0;
}

NcclAlgorithm algorithm_of(const Pattern& pattern) {
  const auto* const found = std::find_if(
      nccl_algorithms.begin(), nccl_algorithms.end(),
      [&](NcclAlgorithm algorithm) { return name_of(algorithm) == pattern.algorithm; });
  assert(found != nccl_algorithms.end());
  return *found;
}

/// Bus traffic of a pattern / size of the collective, as NCCL counts a bus: 1 / per_byte is its
/// bandwidth.
double bus_traffic(const Pattern& pattern) {
  if (pattern.algorithm == "ring") return bus_factor(pattern.kind, pattern.ranks);
  if (pattern.algorithm == "tree" || pattern.algorithm == "nvls_tree") {
    return tree_traffic(pattern.machines);
  }
  return 1;
}

template <class Item>
bool contains(const std::vector<Item>& items, Item item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

/// The cluster as a version of NCCL uses it.
std::shared_ptr<const Cluster> relaying(std::shared_ptr<const Cluster> cluster,
                                        NcclVersion version) {
  constexpr NcclVersion first_with_pxn{2, 12};
  if (version >= first_with_pxn) return cluster;
  auto without = std::make_shared<Cluster>(*cluster);
  without->set_gpus_relay(false);
  return without;
}

}  // namespace

NcclLibrary::NcclLibrary(std::shared_ptr<const Cluster> cluster, NcclOptions options)
    : cluster_(relaying(std::move(cluster), options.version)),
      options_(std::move(options)),
      constants_(options_.constants) {
  assert(cluster_ != nullptr && !options_.algorithms.empty() && !options_.protocols.empty());
}

bool NcclLibrary::may_use_nvls(const Placement& ranks) const {
  constexpr int first_with_nvls = 17;
  if (options_.version.minor < first_with_nvls || !has_nvswitch(*cluster_, ranks)) return false;
  // src/transport/nvls.cc, ncclNvlsInit: not for two GPUs.
  std::map<int, int> gpus_of_machine;
  for (const GpuRef& rank : ranks) ++gpus_of_machine[rank.node];
  if (std::ranges::any_of(gpus_of_machine, [](const auto& of) { return of.second <= 2; })) {
    return false;
  }
  return std::all_of(ranks.begin(), ranks.end(), [&](const GpuRef& rank) {
    const NodeGraph& node = cluster_->node(rank.node);
    const auto& model = node.device(node.gpus()[static_cast<std::size_t>(rank.gpu)]).model;
    const auto gpu = options_.gpus.find(model);
    return gpu != options_.gpus.end() && gpu->second.capability >= hopper_capability;
  });
}

std::vector<Pattern> NcclLibrary::plan(CollectiveKind kind, const Placement& ranks) const {
  return plan_by(plan_collective, kind, ranks);
}

std::vector<Pattern> NcclLibrary::plan_folded(CollectiveKind kind, const Placement& ranks) const {
  return plan_by(ranks.size() < folded_ranks_min ? plan_collective : plan_folded_collective, kind,
                 ranks);
}

std::vector<Pattern> NcclLibrary::plan_by(Planner planner, CollectiveKind kind,
                                          const Placement& ranks) const {
  const std::size_t machines = nodes_of(ranks).size();
  const bool is_across = machines > 1;
  const bool is_lone = machines == ranks.size();
  const bool nvls = may_use_nvls(ranks) && options_.channels_max.value_or(2) >= 2;
  const auto can_run = [&](NcclAlgorithm algorithm) {
    switch (algorithm) {
      case NcclAlgorithm::tree:
        return constants_.has_trees;
      case NcclAlgorithm::nvls:
        return nvls && !is_across;
      case NcclAlgorithm::nvls_tree:
        return nvls && is_across;
      case NcclAlgorithm::collnet_direct:
      case NcclAlgorithm::collnet_chain:
        return options_.collnet && is_across;
      case NcclAlgorithm::pat:
        return constants_.has_pat && is_lone;
      default:
        return true;
    }
  };
  std::vector<NcclAlgorithm> taken;
  const auto take = [&](NcclAlgorithm algorithm) {
    if (find_algorithm(name_of(algorithm), kind) == nullptr || !can_run(algorithm)) return;
    if (nccl_has(kind, algorithm, NcclProtocol::simple)) taken.push_back(algorithm);
  };
  std::ranges::for_each(options_.algorithms, take);
  if (!taken.empty()) return plan_each(taken, planner, kind, ranks);
  for (const NcclAlgorithm algorithm : options_.algorithms) {
    if (nccl_has(kind, algorithm, NcclProtocol::simple)) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::library,
          fmt::format("NCCL 2.{} cannot run {} among these ranks: {}", options_.version.minor,
                      name_of(algorithm), requirement_of(algorithm)));
    }
  }
  take(NcclAlgorithm::ring);  // what was named does not do this kind
  if (taken.empty()) take(NcclAlgorithm::direct);
  return plan_each(taken, planner, kind, ranks);
}

std::vector<Pattern> NcclLibrary::plan_each(const std::vector<NcclAlgorithm>& algorithms,
                                            Planner planner, CollectiveKind kind,
                                            const Placement& ranks) const {
  std::vector<Pattern> patterns(algorithms.size());
  const bool is_large = ranks.size() >= shared_ranks_min;
  in_parts(patterns.size(), is_large ? 2 : patterns.size() + 1,
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t i = begin; i < end; ++i) {
               patterns[i] = planner(kind, name_of(algorithms[i]), *cluster_, ranks);
             }
           });
  return patterns;
}

NcclLibrary::Known NcclLibrary::learn(const Pattern& pattern) const {
  Known known;
  known.facts = examine(*cluster_, pattern, options_.gpus, constants_);
  const NcclFacts& facts = known.facts;
  const bool is_across = pattern.machines > 1;
  const double network = pattern.algorithm == "tree" ? planned_tree_network(pattern.machines) : 1;
  /// GB/s where the network takes so much of its links' time for a byte.
  const auto bus_of = [&](double share) {
    const Seconds per_byte = std::max(facts.nvlink_per_byte, share * facts.planned_per_byte);
    return bus_traffic(pattern) / per_byte.count() / 1e9;
  };
  const double bus = bus_of(network);
  NcclSystem& system = known.system;
  system.machines = pattern.machines;
  system.ranks = pattern.ranks;
  system.architecture = architecture(constants_, facts);
  system.local = facts.local;
  system.amd = facts.amd;
  // A switch has no rings: as many channels as lanes of the usual speed fit.
  system.channels = pattern.algorithm == "nvls"
                        ? std::max(2, static_cast<int>(constants_.nominal_over_payload * bus /
                                                       constants_.measured.nvls_lane))
                        : pattern.channels;
  const auto planned_speed = [&](double rate) {
    return nccl_planned_speed(rate, constants_.nominal_over_payload, facts.capability_min,
                              is_across);
  };
  system.bus = system.channels * planned_speed(bus / system.channels);
  if (is_across && (pattern.algorithm == "ring" || pattern.algorithm == "tree")) {
    const double between_machines = bus_of(std::max(network, 1.0)) / system.channels;
    system.channels =
        nccl_laid_channels(system.channels, planned_speed(between_machines), facts.capability_min);
  }
  const int laid = pattern.algorithm == "nvls"
                       ? constants_.generation(facts.capability_min).nvls_channels
                       : system.channels;
  system.channels_max = options_.channels_max.value_or(system.channels_max);
  if (system.channels_max < laid) {
    known.channel_share = static_cast<double>(system.channels_max) / laid;
    system.bus *= known.channel_share;
    system.channels = system.channels_max;
  }
  const Seconds more = facts.network_latency - constants_.measured.counted_network_latency;
  system.network_latency = std::max(0.0, more.count() * 1e6);
  if (is_across) system.network_bus = 2 / facts.planned_per_byte.count() / 1e9;
  known.planned = system;
  known.planned.network_latency =
      constants_.asks_for_latency ? facts.stated_latency.count() * 1e6 : 0;
  system.channels = std::min(laid, system.channels_max);  // what runs
  return known;
}

const NcclLibrary::Known& NcclLibrary::known(const Pattern& pattern) const {
  return known_.at(pattern.key);
}

void NcclLibrary::learn_all(std::span<const Pattern> patterns) const {
  std::vector<const Pattern*> unknown;
  for (const Pattern& pattern : patterns) {
    if (!known_.contains(pattern.key)) unknown.push_back(&pattern);
  }
  std::vector<Known> learnt(unknown.size());
  const bool is_large = static_cast<std::size_t>(patterns.front().ranks) >= shared_ranks_min;
  in_parts(unknown.size(), is_large ? 2 : unknown.size() + 1,
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t i = begin; i < end; ++i) learnt[i] = learn(*unknown[i]);
           });
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    known_.emplace(unknown[i]->key, learnt[i]);
  }
}

bool NcclLibrary::allows(const NcclFacts& facts, NcclProtocol protocol) const {
  if (!contains(options_.protocols, protocol)) return false;
  // AWS's plug-in sets NCCL_PROTO=simple, unless it is set, where a port may reorder what it writes
  // (aws/aws-ofi-nccl, src/platform-aws.c, force_proto_simple: p3dn, p4d, p4de and all it does not
  // know; printed with 1.5.0 and NCCL 2.12.7). Two p3dn of 2019 (2.4.8) took LL. For collectives
  // inside one machine it is not counted here.
  constexpr int first_with_plugin = 12;
  const bool is_set = options_.forces_ll128 || options_.protocols.size() < nccl_protocols.size();
  if (facts.is_efa && facts.capability_min < hopper_capability && !is_set &&
      options_.version.minor >= first_with_plugin) {
    return protocol == NcclProtocol::simple;
  }
  if (protocol != NcclProtocol::ll128 || options_.forces_ll128) return true;
  // src/graph/tuning.cc: one generation of GPUs of 7.0, 8.0, 9.0 or later, NVLink inside, no host
  // bridge before the NIC (from Hopper on another GPU's NIC will do).
  constexpr int first_with_ll128 = 5;
  constexpr int volta = 70;
  const int capability = facts.capability_min;
  const bool is_known = capability == volta || capability == ampere_capability ||
                        capability == hopper_capability || capability >= blackwell_capability ||
                        (constants_.ll128_from_volta && capability > volta);
  return options_.version.minor >= first_with_ll128 && is_known &&
         capability == facts.capability_max && facts.local == hop_nvlink &&
         !facts.crosses_host_bridge;
}

std::vector<NcclLibrary::Way> NcclLibrary::ways(std::span<const Pattern> patterns) const {
  std::vector<Way> result;
  const auto add = [&](bool all_protocols) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const NcclAlgorithm algorithm = algorithm_of(patterns[i]);
      for (const NcclProtocol protocol : nccl_protocols) {
        const bool is_allowed = all_protocols ? protocol != NcclProtocol::ll128
                                              : allows(known(patterns[i]).facts, protocol);
        if (is_allowed && nccl_has(patterns[i].kind, algorithm, protocol)) {
          result.push_back({i, algorithm, protocol});
        }
      }
    }
  };
  add(false);
  if (result.empty()) add(true);
  return result;
}

NcclLibrary::Way NcclLibrary::by_threshold(std::span<const Pattern> patterns,
                                           std::span<const Way> ways, Bytes size) const {
  const auto bytes = static_cast<double>(size.count());
  const auto laid = [&](const Pattern& pattern) {  // rings laid again count
    NcclSystem system = known(pattern).system;
    system.channels = std::max(system.channels, options_.channels_min.value_or(1));
    return system;
  };
  const bool tree = bytes <= nccl_tree_threshold(laid(patterns.front()));
  const auto wanted = [&](const Way& way) {
    const NcclQuestion question{patterns[way.pattern].kind, way.algorithm, way.protocol,
                                size.count()};
    const bool is_small = bytes <= nccl_ll_threshold(laid(patterns[way.pattern]), question);
    const bool right_protocol = (way.protocol == NcclProtocol::ll) == is_small;
    const bool right_algorithm = (way.algorithm == NcclAlgorithm::tree) == tree;
    return 2 * static_cast<int>(right_algorithm) + static_cast<int>(right_protocol);
  };
  return *std::max_element(ways.begin(), ways.end(),
                           [&](const Way& a, const Way& b) { return wanted(a) < wanted(b); });
}

NcclLibrary::Way NcclLibrary::taken(std::span<const Pattern> patterns, std::span<const Way> ways,
                                    Bytes size) const {
  assert(!ways.empty());
  if (!constants_.has_model) return by_threshold(patterns, ways, size);
  const auto time = [&](const Way& way) {
    return nccl_time(constants_, known(patterns[way.pattern]).planned,
                     {patterns[way.pattern].kind, way.algorithm, way.protocol, size.count()});
  };
  return *std::min_element(ways.begin(), ways.end(),
                           [&](const Way& a, const Way& b) { return time(a) < time(b); });
}

Seconds NcclLibrary::time_of(std::span<const Pattern> patterns, const Way& way, Bytes size) const {
  const Pattern& pattern = patterns[way.pattern];
  const Known& known = this->known(pattern);
  const NcclQuestion question{pattern.kind, way.algorithm, way.protocol, size.count()};
  const double us = nccl_measured_time(constants_, known.system, question, known.facts,
                                       options_.gpus_per_process, known.channel_share);
  return Seconds{1e-6 *
                 std::max(us, nccl_late_messages(constants_, known.system, question, known.facts))};
}

std::optional<FasterWay> NcclLibrary::faster(std::span<const Pattern> patterns,
                                             std::span<const Way> ways, const Way& taken,
                                             Bytes size) const {
  const Way* best = &taken;
  Seconds time = time_of(patterns, taken, size);
  for (const Way& way : ways) {
    const Seconds other = time_of(patterns, way, size);
    if (other < time) {
      best = &way;
      time = other;
    }
  }
  if (best == &taken) return std::nullopt;
  std::vector<Way> of_algorithm;
  std::ranges::copy_if(ways, std::back_inserter(of_algorithm),
                       [&](const Way& way) { return way.algorithm == best->algorithm; });
  FasterWay result{.algorithm = std::string(name_of(best->algorithm)),
                   .protocol = std::string(name_of(best->protocol)),
                   .time = time + options_.host_per_call,
                   .setting = {}};
  if (best->algorithm != taken.algorithm) {
    result.setting = fmt::format("NCCL_ALGO={}", variable_of(best->algorithm));
  }
  if (best->algorithm == taken.algorithm ||
      this->taken(patterns, of_algorithm, size).protocol != best->protocol) {
    result.setting += fmt::format("{}NCCL_PROTO={}", result.setting.empty() ? "" : " ",
                                  variable_of(best->protocol));
  }
  return result;
}

CollectiveChoice NcclLibrary::choose(std::span<const Pattern> patterns, Bytes size) const {
  CollectiveChoice choice;
  choice.cost.source = "model";
  choice.cost.algorithm = patterns.front().algorithm;
  if (patterns.front().phases.empty()) return choice;  // one rank, in place: nothing is launched
  learn_all(patterns);
  const std::vector<Way> all = ways(patterns);
  const Way way = taken(patterns, all, size);
  const Pattern& pattern = patterns[way.pattern];
  const Known& known = this->known(pattern);
  const NcclQuestion question{pattern.kind, way.algorithm, way.protocol, size.count()};
  choice.pattern = way.pattern;
  choice.cost.algorithm = pattern.algorithm;
  choice.cost.protocol = name_of(way.protocol);
  choice.cost.late_messages =
      Seconds{1e-6 * nccl_late_messages(constants_, known.system, question, known.facts)};
  choice.cost.uncontended = time_of(patterns, way, size) + options_.host_per_call;
  choice.cost.faster = faster(patterns, all, way, size);
  choice.cost.kernel =
      nccl_kernel(known.system, question, options_.channels_max, options_.channels_min.value_or(1));
  if (constants_.has_model) {
    choice.cost.planned = Seconds{nccl_time(constants_, known.planned, question) * 1e-6};
  }
  return choice;
}

}  // namespace gradwire
