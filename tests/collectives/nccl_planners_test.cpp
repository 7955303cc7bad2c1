#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/planners.hpp"
#include "sim/collectives/tree.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/collectives/shares.hpp"

namespace gradwire {
namespace {

using Catch::Matchers::StartsWith;

using test::dgx1v_cluster;
using test::nvswitch_node;
using test::share_per_rank;

Cluster nvswitch_cluster(int nodes) {
  return test::cluster_of(std::vector<std::shared_ptr<const NodeGraph>>(
      static_cast<std::size_t>(nodes), nvswitch_node()));
}

/// Share of the size on each link.
std::map<std::string, double> loads(const Cluster& cluster, const Pattern& pattern) {
  std::map<std::string, double> load;
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (std::uint32_t i = 0; i < flow.path_size; ++i) {
        load[cluster.link_name(pattern.path_links[flow.path_begin + i])] += flow.share;
      }
    }
  }
  return load;
}

/// The parts of the vector that each rank has reduced over all ranks, after one pipeline group: a
/// flow carries what its source holds when it is its turn, as the coupling says.
std::vector<std::set<int>> contributions(const Phase& phase, int group, int ranks) {
  std::vector<std::set<int>> held(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) held[static_cast<std::size_t>(rank)] = {rank};
  for (const PatternFlow& flow : phase.flows) {
    if (flow.group != group) continue;
    const auto& from = held[static_cast<std::size_t>(flow.source)];
    held[static_cast<std::size_t>(flow.destination)].insert(from.begin(), from.end());
  }
  return held;
}

}  // namespace

TEST_CASE("A double tree's nodes are inside at most one of the two trees", "[collectives][tree]") {
  for (int count = 1; count <= 65; ++count) {
    std::map<DoubleTree, std::set<int>> inner;
    for (const DoubleTree which : {DoubleTree::first, DoubleTree::second}) {
      std::map<int, int> children;
      int roots = 0;
      for (int node = 0; node < count; ++node) {
        int steps = 0;
        for (int up = node; up >= 0; up = tree_parent(which, up, count)) {
          REQUIRE(++steps <= count);  // no cycle
        }
        const int parent = tree_parent(which, node, count);
        roots += parent < 0 ? 1 : 0;
        if (parent >= 0) ++children[parent];
      }
      CHECK(roots == 1);
      for (const auto& [node, number] : children) {
        CHECK(number <= 2);
        inner[which].insert(node);
      }
    }
    // For an even count both trees have n/2 inner nodes at most, and no node is inside both; the
    // shift of an odd count leaves one that may be.
    std::vector<int> both;
    std::set_intersection(inner[DoubleTree::first].begin(), inner[DoubleTree::first].end(),
                          inner[DoubleTree::second].begin(), inner[DoubleTree::second].end(),
                          std::back_inserter(both));
    CHECK(both.size() <= (count % 2 == 0 ? 0U : 1U));
  }
}

TEST_CASE("A tree all-reduce brings every rank's data to every rank", "[collectives][tree]") {
  for (const int nodes : {1, 2, 3, 5, 8}) {
    for (const int gpus : {1, 3, 8}) {
      if (nodes * gpus < 2) continue;
      const Cluster cluster = dgx1v_cluster(nodes);
      const Pattern pattern = plan_tree_all_reduce(cluster, packed_placement(cluster, gpus));
      const Phase& phase = pattern.phases.front();
      INFO(nodes << " nodes of " << gpus);
      double share = 0;
      std::set<int> groups;
      for (const PatternFlow& flow : phase.flows) groups.insert(flow.group);
      for (const int group : groups) {
        const auto held = contributions(phase, group, pattern.ranks);
        for (const auto& set : held) CHECK(static_cast<int>(set.size()) == pattern.ranks);
        share += std::find_if(phase.flows.begin(), phase.flows.end(), [&](const PatternFlow& flow) {
                   return flow.group == group;
                 })->share;
      }
      CHECK(share == Approx(1));  // the groups have all bytes between them
    }
  }
}

TEST_CASE("Two machines' tree sends the size once through their NICs in each direction",
          "[collectives][tree]") {
  // Each machine is the root of one of the trees, which have half of the bytes: up in one, down in
  // the other; 4 NICs share them.
  const Cluster cluster = dgx1v_cluster(2);
  const auto load = loads(cluster, plan_tree_all_reduce(cluster, packed_placement(cluster, 8)));
  for (const char* nic : {"node0.nic0.up", "node0.nic3.down", "node1.nic2.up"}) {
    INFO(nic);
    CHECK(load.at(nic) == Approx(0.25));
  }
}

TEST_CASE("NVLS loads a GPU's links with the size and its own part of it", "[collectives][nvls]") {
  const Cluster cluster = nvswitch_cluster(1);
  const Placement ranks = packed_placement(cluster, 8);
  const auto at = [&](const Pattern& pattern, const std::string& link) {
    return loads(cluster, pattern).at("node0." + link);
  };
  const Pattern all_reduce = plan_nvls_all_reduce(cluster, ranks);
  CHECK(at(all_reduce, "gpu3->nvswitch0") == Approx(1 + 1.0 / 8));
  CHECK(at(all_reduce, "nvswitch0->gpu3") == Approx(1 + 1.0 / 8));
  const Pattern reduce_scatter = plan_nvls_reduce_scatter(cluster, ranks);
  CHECK(at(reduce_scatter, "gpu0->nvswitch0") == Approx(1));
  CHECK(at(reduce_scatter, "nvswitch0->gpu0") == Approx(1.0 / 8));
  const Pattern all_gather = plan_nvls_all_gather(cluster, ranks);
  CHECK(at(all_gather, "gpu7->nvswitch0") == Approx(1.0 / 8));
  CHECK(at(all_gather, "nvswitch0->gpu7") == Approx(1));
}

TEST_CASE("NVLSTree reduces in each machine and sends the size through its NICs",
          "[collectives][nvls]") {
  const Cluster cluster = nvswitch_cluster(2);
  const Pattern pattern = plan_nvls_tree_all_reduce(cluster, packed_placement(cluster, 8));
  const auto load = loads(cluster, pattern);
  CHECK(load.at("node1.gpu2->nvswitch0") == Approx(1 + 1.0 / 8));
  CHECK(load.at("node1.nic2.up") == Approx(0.25));
}

TEST_CASE("PAT's rounds bring every part to every rank", "[collectives][pat]") {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    INFO(ranks << " ranks");
    const Cluster cluster = dgx1v_cluster(ranks);
    const Placement members = packed_placement(cluster, 1);
    const Pattern gather = plan_pat_all_gather(cluster, members);
    CHECK(share_per_rank(gather) == Approx((ranks - 1.0) / ranks));
    // Rank r's tree: in the round of distance d, holders at an even multiple of d from r send on.
    std::set<int> reached = {0};
    for (const Phase& phase : gather.phases) {
      const PatternFlow& flow = phase.flows.front();
      const int distance = (flow.destination - flow.source + ranks) % ranks;
      int sent = 0;
      for (const int holder : std::set<int>(reached)) {
        if (holder + distance < ranks && reached.insert(holder + distance).second) ++sent;
      }
      CHECK(flow.share == Approx(static_cast<double>(sent) / ranks));
    }
    CHECK(static_cast<int>(reached.size()) == ranks);
    CHECK(share_per_rank(plan_pat_reduce_scatter(cluster, members)) ==
          Approx((ranks - 1.0) / ranks));
  }
}

TEST_CASE("CollNet sends the size once into the network and gets it once",
          "[collectives][collnet]") {
  const Cluster cluster = dgx1v_cluster(3);
  const Placement ranks = packed_placement(cluster, 8);
  for (const Pattern& pattern : {plan_collnet_chain_all_reduce(cluster, ranks),
                                 plan_collnet_direct_all_reduce(cluster, ranks)}) {
    const auto load = loads(cluster, pattern);
    INFO(pattern.algorithm);
    for (const char* nic : {"node0.nic0.up", "node2.nic3.down"}) {
      CHECK(load.at(nic) == Approx(0.25));
    }
  }
}

TEST_CASE("NCCL's algorithms say where they cannot run", "[collectives][nccl]") {
  const Cluster mesh = dgx1v_cluster(2);
  const Placement here = packed_placement(dgx1v_cluster(1), 8);
  const Placement both = packed_placement(mesh, 8);
  const auto kind = CollectiveKind::all_reduce;
  const Cluster switched = nvswitch_cluster(2);
  CHECK_THROWS_WITH(plan_collective(kind, "nvls", mesh, here), StartsWith("nvls needs NVSwitches"));
  CHECK_THROWS_WITH(plan_collective(kind, "nvls", switched, both),
                    StartsWith("nvls reduces inside one machine"));
  CHECK_THROWS_WITH(plan_collective(kind, "nvls_tree", switched, here),
                    StartsWith("nvls_tree joins several machines"));
  CHECK_THROWS_WITH(plan_collective(kind, "collnet_chain", mesh, here),
                    StartsWith("collnet reduces in the network"));
  CHECK_THROWS_WITH(plan_collective(CollectiveKind::all_gather, "pat", mesh, both),
                    StartsWith("pat runs with one rank in each machine"));
}

}  // namespace gradwire
