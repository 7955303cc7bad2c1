#include "sim/collectives/planners.hpp"

#include <cstddef>
#include <vector>

#include "sim/collectives/rank_flows.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/collectives/tree.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

using Channels = std::vector<std::vector<MachineChain>>;

Channels channels_of(const Cluster& cluster, const Placement& members) {
  Channels channels;
  for (const RankRing& ring : plan_rings(cluster, members)) {
    channels.push_back(chains_of(ring, members));
  }
  if (!channels.empty() && channels.front().size() < 2) {
    throw SimulationError(
        "collnet reduces in the network between machines; expected another algorithm ('ring', "
        "'tree') on one");
  }
  return channels;
}

/// Into the network and out of it: what a machine sends up and what the next one gets down load the
/// same links as a message between the two.
void append_network(const MachineChain& from, const MachineChain& to, int group, RankFlows& flows) {
  flows.remote(from.head(), to.head(), group);
}

/// All routes into the network and out of it, a group each.
void append_networks(const Channels& channels, RankFlows& flows) {
  int group = 0;
  for (const auto& chains : channels) {
    for (std::size_t i = 0; i < chains.size(); ++i) {
      append_network(chains[i], chains[(i + 1) % chains.size()], group++, flows);
    }
  }
}

/// A phase between each machine's other GPUs and the one at the NIC: up to it, or down from it.
void append_inside(const Channels& channels, bool up, RankFlows& flows) {
  int group = 0;
  for (const auto& chains : channels) {
    for (const MachineChain& chain : chains) {
      const int head = chain.ranks.front();
      for (std::size_t i = 1; i < chain.ranks.size(); ++i) {
        const int other = chain.ranks[i];
        flows.local(up ? other : head, up ? head : other, group++);
      }
    }
  }
}

}  // namespace

Pattern plan_collnet_chain_all_reduce(const Cluster& cluster, const Placement& members) {
  const Channels channels = channels_of(cluster, members);
  Pattern pattern =
      start_pattern(CollectiveKind::all_reduce, "collnet_chain", members, channels.size());
  if (!channels.empty()) {
    RankFlows flows(cluster, members, 1.0 / pattern.channels, pattern);
    pattern.phases.push_back(
        {.flows = {}, .steps = collnet_pieces, .coupling = Coupling::pipeline});
    int group = 0;
    for (const auto& chains : channels) {
      for (std::size_t m = 0; m < chains.size(); ++m) {
        const std::vector<int>& ranks = chains[m].ranks;
        for (std::size_t i = ranks.size() - 1; i > 0; --i) {
          flows.local(ranks[i], ranks[i - 1], group);
        }
        append_network(chains[m], chains[(m + 1) % chains.size()], group, flows);
        for (std::size_t i = 1; i < ranks.size(); ++i) {
          flows.local(ranks[i - 1], ranks[i], group);
        }
        ++group;
      }
    }
  }
  pattern.seal();
  return pattern;
}

Pattern plan_collnet_direct_all_reduce(const Cluster& cluster, const Placement& members) {
  const Channels channels = channels_of(cluster, members);
  Pattern pattern =
      start_pattern(CollectiveKind::all_reduce, "collnet_direct", members, channels.size());
  if (!channels.empty()) {
    RankFlows flows(cluster, members, 1.0 / pattern.channels, pattern);
    const bool is_inside = pattern.ranks > pattern.machines;
    const auto add_phase = [&] {
      pattern.phases.push_back({.flows = {}, .steps = 1, .coupling = Coupling::independent});
    };
    if (is_inside) {
      add_phase();
      append_inside(channels, true, flows);
    }
    add_phase();
    append_networks(channels, flows);
    if (is_inside) {
      add_phase();
      append_inside(channels, false, flows);
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
