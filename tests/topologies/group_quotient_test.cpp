
#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/machine_fold.hpp"
#include "sim/engine/engine.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/topologies/machines.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire {
namespace {

constexpr double as_many_as_there_are = std::numeric_limits<double>::infinity();

/// One of every builder's, for 24 machines.
std::vector<std::pair<std::string, Fabric>> fabrics(int nics) {
  const auto groups = test::machines(24, nics);
  const Link trunk = test::test_trunk();
  return {
      {"single switch", single_switch(groups)},
      {"two levels", fat_tree(groups, {.machines_per_leaf = 4, .spines = 2, .trunk = trunk})},
      {"three levels", fat_tree(groups, {.machines_per_leaf = 3,
                                         .spines = 2,
                                         .leaves_per_pod = 4,
                                         .cores_per_spine = 2,
                                         .trunk = trunk})},
      {"rails", rail(groups, {.machines_per_leaf = 6, .spines = 2, .trunk = trunk})},
      {"rails alone", rail(groups, {.trunk = trunk})},
      {"torus", torus(groups, {.dimensions = {3, 4}, .machines_per_switch = 2, .trunk = trunk})},
      {"dragonfly", dragonfly(groups, {.groups = 3,
                                       .routers_per_group = 4,
                                       .machines_per_router = 2,
                                       .global_links = 1,
                                       .local = trunk,
                                       .global = trunk})},
  };
}

std::vector<std::pair<std::string, std::shared_ptr<const NodeGraph>>> node_types() {
  return {{"all to all", test::gpus_with_nics(4)},
          {"no NVLink", test::gpus_with_nics(2, false)},
          {"DGX-1V", test::dgx1v()},
          {"NVSwitch", test::nvswitch_node()}};
}

using Planner = Pattern (*)(CollectiveKind, std::string_view, const Cluster&, const Placement&);

/// What can run there of the algorithms of large jobs.
std::vector<Pattern> plans(Planner planner, const Cluster& cluster, const std::string& node) {
  Placement all;
  for (int machine = 0; machine < cluster.node_count(); ++machine) {
    const int gpus = static_cast<int>(cluster.node(machine).gpus().size());
    for (int gpu = 0; gpu < gpus; ++gpu) all.push_back({machine, gpu});
  }
  std::vector<Pattern> plans;
  const auto add = [&](CollectiveKind kind, const char* algorithm) {
    plans.push_back(planner(kind, algorithm, cluster, all));
  };
  add(CollectiveKind::all_reduce, "ring");
  add(CollectiveKind::reduce_scatter, "ring");
  add(CollectiveKind::broadcast, "ring");
  add(CollectiveKind::all_reduce, "tree");
  if (node == "NVSwitch") add(CollectiveKind::all_reduce, "nvls_tree");
  return plans;
}

/// When each of them ends, one after the other, of 1 MB and of 100 MB, in seconds: by hops, by a
/// time that their links give them, and by one that their links do not.
std::vector<double> ends(const Cluster& cluster, const std::vector<Pattern>& patterns,
                         double refined_flows_max) {
  const auto engine = make_engine(cluster, patterns,
                                  {.one_at_a_time = true, .refined_flows_max = refined_flows_max});
  CollectiveCost hops;
  hops.hop_nvlink = Seconds{2e-6};
  hops.hop_pcie = Seconds{4e-6};
  hops.hop_network = Seconds{9e-6};
  CollectiveCost slow;
  slow.uncontended = Seconds{10};
  CollectiveCost fast;
  fast.uncontended = Seconds{1e-6};
  std::vector<double> ends;
  const auto start = [&] {
    const std::size_t next = ends.size();
    if (next == 6 * patterns.size()) return;
    const CollectiveCost& cost = next % 3 == 0 ? hops : next % 3 == 1 ? slow : fast;
    engine->network().start(static_cast<TransferId>(next), static_cast<PatternId>(next / 6),
                            Bytes{next % 6 < 3 ? 1'000'000 : 100'000'000}, cost);
  };
  engine->at(Seconds{}, start);
  double begin = 0;
  engine->run([&](TransferId /*id*/, Seconds now) {
    ends.push_back(now.count() - begin);
    begin = now.count();
    start();
  });
  UNSCOPED_INFO(engine->network().stats().why);
  return ends;
}

TEST_CASE("Rings and trees made one of at once take as long as with their flows refined",
          "[topology][engine][group_quotient]") {
  for (const auto& [node, graph] : node_types()) {
    for (auto& [fabric, switches] : fabrics(static_cast<int>(graph->nics().size()))) {
      INFO(node << " on " << fabric);
      Cluster cluster(std::vector(24, graph), std::move(switches));
      const std::vector<Pattern> patterns = plans(plan_collective, cluster, node);
      for (const bool degraded : {false, true}) {
        if (degraded) cluster.degrade(cluster.find_links("node5.nic0").front(), 0.25);
        const auto refined = ends(cluster, patterns, as_many_as_there_are);
        const auto at_once = ends(cluster, patterns, 0);
        REQUIRE(refined.size() == at_once.size());
        for (std::size_t i = 0; i < refined.size(); ++i) {
          INFO("transfer " << i << " of " << patterns[i / 6].algorithm);
          CHECK(at_once[i] == Approx(refined[i]).epsilon(1e-9));
        }
      }
    }
  }
}

/// The same flows over the same links, in the same order.
bool is_same(const Phase& a, const Phase& b) {
  return a.steps == b.steps && a.coupling == b.coupling && a.runs.empty() && b.runs.empty() &&
         std::ranges::equal(a.flows, b.flows, [](const PatternFlow& x, const PatternFlow& y) {
           return x.source == y.source && x.destination == y.destination && x.share == y.share &&
                  x.group == y.group && x.path_begin == y.path_begin && x.path_size == y.path_size;
         });
}

std::vector<std::pair<LinkId, double>> usage(const Cluster& cluster, const Pattern& pattern) {
  const auto engine =
      make_engine(cluster, std::span(&pattern, 1), {.one_at_a_time = true, .refined_flows_max = 0});
  engine->at(Seconds{}, [&] { engine->network().start(0, 0, Bytes{1'000'000}, {}); });
  engine->run([](TransferId /*id*/, Seconds /*now*/) {});
  std::vector<std::pair<LinkId, double>> usage;
  engine->network().visit_usage(
      [&](const LinkUse& use) { usage.emplace_back(use.link, use.bytes); });
  return usage;
}

/// Compares what is folded of `fewer` with the whole patterns. @return how many are.
int check_folded(const Cluster& cluster, const std::vector<Pattern>& fewer,
                 const std::vector<Pattern>& whole) {
  int folded = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    INFO(whole[i].algorithm);
    if (!fewer[i].is_folded()) continue;
    ++folded;
    CHECK(fewer[i].phases.front().flows.size() < whole[i].phases.front().flows.size());
    CHECK(fewer[i].key != whole[i].key);
    const Pattern again = unfolded(fewer[i]);
    CHECK(again.key == whole[i].key);
    CHECK(std::ranges::equal(again.phases, whole[i].phases, is_same));
    CHECK(again.path_links == whole[i].path_links);
    CHECK(usage(cluster, fewer[i]) == usage(cluster, whole[i]));
  }
  return folded;
}

TEST_CASE("A folded pattern is the whole one with fewer flows", "[topology][engine][fold]") {
  int folded = 0;
  for (const auto& [node, graph] : node_types()) {
    for (auto& [fabric, switches] : fabrics(static_cast<int>(graph->nics().size()))) {
      INFO(node << " on " << fabric);
      Cluster cluster(std::vector(24, graph), std::move(switches));
      const auto whole = plans(plan_collective, cluster, node);
      const auto fewer = plans(plan_folded_collective, cluster, node);
      folded += check_folded(cluster, fewer, whole);
      const auto all = ends(cluster, whole, as_many_as_there_are);
      const auto some = ends(cluster, fewer, 0);
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(some[i] == Approx(all[i]).epsilon(1e-9));
      // A slow link of a machine makes it unlike the others.
      cluster.degrade(cluster.first_link(7), 0.5);
      const auto unlike = plans(plan_folded_collective, cluster, node);
      CHECK(std::ranges::none_of(unlike, &Pattern::is_folded));
    }
  }
  // Rings of two operations and the tree, on each of seven fabrics: where GPUs are joined all to
  // all and in the DGX-1V they leave by links of their own. Without NVLink chains and ways to NICs
  // share PCIe, and so do rings' ways from an NVSwitch that relay to the GPU beside the NIC, but no
  // tree's.
  CHECK(folded == 7 * (3 + 3 + 1));
}

}  // namespace
}  // namespace gradwire
