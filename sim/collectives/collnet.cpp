#include "sim/collectives/collnet.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/collectives/rings.hpp"
#include "sim/collectives/tree.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

using Channels = std::vector<std::vector<MachineChain>>;

/// Appends flows to the last phase of a pattern, all with the same share.
class Appender {
 public:
  Appender(const Cluster& cluster, const Placement& members, Pattern& pattern)
      : cluster_(cluster), members_(members), pattern_(pattern) {
    share_ = 1.0 / pattern.channels;
  }

  void local(int from, int to, int group) {
    const std::size_t begin = pattern_.path_links.size();
    cluster_.append_local(at(from).node, at(from).gpu, at(to).gpu, pattern_.path_links);
    add(from, to, group, begin);
  }

  /// Into the network and out of it: what a machine sends up and what the next one gets down load
  /// the same links as a message between the two.
  void network(const MachineChain& from, const MachineChain& to, int group) {
    const int source = from.ranks.front();
    const int destination = to.ranks.front();
    const std::size_t begin = pattern_.path_links.size();
    cluster_.append_remote(at(source), from.nic, at(destination), to.nic, pattern_.path_links);
    add(source, destination, group, begin);
  }

  void start(Coupling coupling, int steps) {
    pattern_.phases.push_back({.flows = {}, .steps = steps, .coupling = coupling});
  }

 private:
  [[nodiscard]] const GpuRef& at(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }

  void add(int from, int to, int group, std::size_t begin) {
    pattern_.phases.back().flows.push_back(
        {.source = from,
         .destination = to,
         .share = share_,
         .group = group,
         .path_begin = static_cast<std::uint32_t>(begin),
         .path_size = static_cast<std::uint32_t>(pattern_.path_links.size() - begin)});
  }

  const Cluster& cluster_;
  const Placement& members_;
  Pattern& pattern_;
  double share_ = 0;
};

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

/// All ways into the network and out of it, a group each.
void append_network(const Channels& channels, Appender& flows) {
  int group = 0;
  for (const auto& chains : channels) {
    for (std::size_t i = 0; i < chains.size(); ++i) {
      flows.network(chains[i], chains[(i + 1) % chains.size()], group++);
    }
  }
}

/// A phase between each machine's other GPUs and the one at the NIC: up to it, or down from it.
void append_inside(const Channels& channels, bool up, Appender& flows) {
  flows.start(Coupling::independent, 1);
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
    Appender flows(cluster, members, pattern);
    flows.start(Coupling::pipeline, collnet_pieces);
    int group = 0;
    for (const auto& chains : channels) {
      for (std::size_t m = 0; m < chains.size(); ++m) {
        const std::vector<int>& ranks = chains[m].ranks;
        for (std::size_t i = ranks.size() - 1; i > 0; --i) {
          flows.local(ranks[i], ranks[i - 1], group);
        }
        flows.network(chains[m], chains[(m + 1) % chains.size()], group);
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
    Appender flows(cluster, members, pattern);
    const bool is_inside = pattern.ranks > pattern.machines;
    if (is_inside) append_inside(channels, true, flows);
    flows.start(Coupling::independent, 1);
    append_network(channels, flows);
    if (is_inside) append_inside(channels, false, flows);
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
