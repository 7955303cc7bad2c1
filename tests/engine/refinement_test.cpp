#include "sim/engine/refinement.hpp"

#include <random>

#include "sim/engine/quotient.hpp"
#include "tests/catch.hpp"
#include "tests/engine/oracle/max_min.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

constexpr double bandwidth = 1e9;
constexpr double latency = 1e-6;

Partition refine(const std::vector<ClusterLink>& links, const std::vector<Pattern>& patterns) {
  return refine(make_flow_graph(links, patterns));
}

TEST_CASE("A homogeneous ring is one class of flows and two of links", "[engine][refinement]") {
  // Up and down links both carry one flow of the one class; the capacities are equal: one class.
  const auto partition = refine(toy::star(64, bandwidth, latency), {toy::ring(toy::ranks(64), 4)});
  CHECK(partition.flow_classes == 1);
  CHECK(partition.link_classes == 1);
  CHECK(partition.group_classes == 1);
}

TEST_CASE("A slow link splits its own class only", "[engine][refinement]") {
  auto links = toy::star(64, bandwidth, latency);
  links[2].capacity /= 3;
  const auto partition = refine(links, {toy::ring(toy::ranks(64))});
  // The flow over it, and the others. Its down link at the receiver is told by that flow.
  CHECK(partition.flow_classes == 2);
  CHECK(partition.link_classes == 3);
  CHECK(partition.flow_class[1] != partition.flow_class[0]);
  CHECK(partition.flow_class[2] == partition.flow_class[0]);
}

TEST_CASE("A group with a slow member stays apart from the others", "[engine][refinement]") {
  // Two rings on separate halves; rank 1's NIC is slow.
  auto links = toy::star(32, bandwidth, latency);
  links[2].capacity /= 3;
  std::vector<int> lower = toy::ranks(16);
  Pattern both = toy::ring(lower);
  for (auto& rank : lower) rank += 16;
  for (int r = 0; r < 16; ++r) {
    toy::add_flow(both, both.phases[0], lower[static_cast<std::size_t>(r)],
                  lower[static_cast<std::size_t>((r + 1) % 16)], both.phases[0].flows[0].share, 1);
  }
  const auto coupled = refine(links, {both});
  CHECK(coupled.group_classes == 2);
  // slow flow, its ring mates, the other ring
  CHECK(coupled.flow_classes == 3);
  CHECK(coupled.flow_class[5] != coupled.flow_class[20]);
  both.phases[0].coupling = Coupling::independent;
  CHECK(refine(links, {both}).flow_classes == 2);
}

TEST_CASE("Flows of different kinds never merge", "[engine][refinement]") {
  auto links = toy::star(8, bandwidth, latency);
  Pattern pattern = toy::pairs({{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(refine(links, {pattern}).flow_classes == 1);
  pattern.phases[0].flows[1].share = 0.5;
  CHECK(refine(links, {pattern}).flow_classes == 2);
  links[8].latency *= 2;
  CHECK(refine(links, {pattern}).flow_classes == 3);
  links[12].kind = links[15].kind = LinkKind::pcie;
  links[15].kind = LinkKind::nvlink;
  CHECK(refine(links, {pattern}).flow_classes == 4);
}

TEST_CASE("Links that one flow passes tell of it by their capacities", "[engine][refinement]") {
  auto links = toy::star(8, bandwidth, latency);
  const Pattern pattern = toy::pairs({{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  links[4].capacity /= 3;   // of the second flow, where it begins,
  links[11].capacity /= 3;  // and of the third one, where it ends
  const auto partition = refine(links, {pattern});
  CHECK(partition.flow_class == std::vector<std::uint32_t>{0, 1, 1, 0});
  // In the order in which flows pass them: up, then down.
  CHECK(partition.link_class == std::vector<std::uint32_t>{0, 0, 1, 2, 2, 1, 0, 0});
  links[4].capacity /= 3;
  CHECK(refine(links, {pattern}).flow_classes == 3);
}

TEST_CASE("A difference travels as far as links are shared", "[engine][refinement]") {
  // A line of 100 flows, each of which shares a link with its neighbours; the first link is narrow.
  // In max-min all of them may differ, so none may merge.
  std::vector<ClusterLink> links(101, {bandwidth, latency, LinkKind::pcie});
  links[0].capacity /= 2;
  Pattern pattern;
  pattern.phases.emplace_back();
  for (int i = 0; i < 100; ++i) {
    pattern.path_links.push_back(i);
    pattern.path_links.push_back(i + 1);
    pattern.phases[0].flows.push_back({0, 1, 1, 0, static_cast<std::uint32_t>(2 * i), 2});
  }
  const auto partition = refine(links, {pattern});
  CHECK(partition.flow_classes == 100);
  CHECK(partition.link_classes == 101);
}

/// Copies of one random problem, so that there is symmetry to find; a link may stand twice in a
/// path, whose legs begin and end at ports.
Pattern random_copies(std::mt19937& random, int copies, std::vector<ClusterLink>& links) {
  const auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int base_links = 3 + up_to(5);
  const int base_flows = 2 + up_to(8);
  std::vector<ClusterLink> base;
  base.reserve(static_cast<std::size_t>(base_links));
  for (int l = 0; l < base_links; ++l) {
    const LinkKind kind = up_to(2) == 0 ? LinkKind::network : LinkKind::pcie;
    base.push_back({bandwidth * (1 + up_to(3)), latency, kind});
  }
  Pattern pattern;
  pattern.phases.emplace_back();
  std::vector<std::vector<int>> paths(static_cast<std::size_t>(base_flows));
  for (auto& path : paths) {
    for (int hops = 1 + up_to(3); hops > 0; --hops) path.push_back(up_to(base_links));
  }
  for (int copy = 0; copy < copies; ++copy) {
    links.insert(links.end(), base.begin(), base.end());
    for (const auto& path : paths) {
      const auto begin = static_cast<std::uint32_t>(pattern.path_links.size());
      // The last link is one for all copies: they are not independent of each other.
      for (const int link : path) {
        pattern.path_links.push_back(link == base_links - 1 ? link : copy * base_links + link);
      }
      pattern.phases[0].flows.push_back(
          {0, 1, 1, 0, begin, static_cast<std::uint32_t>(path.size())});
    }
  }
  return pattern;
}

TEST_CASE("Merged flows get the rates that they have one by one", "[engine][refinement]") {
  std::mt19937 random(7);
  std::uint32_t merged = 0;
  for (int problem = 0; problem < 200; ++problem) {
    std::vector<ClusterLink> links;
    const std::vector<Pattern> patterns{random_copies(random, 6, links)};
    const FlowGraph graph = make_flow_graph(links, patterns);
    const Partition partition = refine(graph);
    const auto solve = [&](const Partition& how) {
      const FlowProblem flows = make_quotient(graph, how).problem;
      std::vector<CappedFlow> capped;
      for (const auto& column : flows.columns) capped.push_back({column});
      return max_min_rates(flows.capacity, capped);
    };
    const auto one_by_one = solve(no_merging(graph));
    const auto by_class = solve(partition);
    REQUIRE(by_class.size() <= one_by_one.size() / 6);
    for (std::size_t flow = 0; flow < one_by_one.size(); ++flow) {
      REQUIRE(by_class[partition.flow_class[flow]] ==
              Approx(one_by_one[flow]).epsilon(1e-12).margin(0));
    }
    merged += partition.flow_classes;
  }
  CHECK(merged > 200);
}

/// The same graph, each flow's links in its path.
FlowGraph without_legs(const FlowGraph& graph) {
  FlowGraph spelled = graph;
  spelled.path.clear();
  spelled.path_begin.assign(1, 0);
  spelled.leg_begin.assign(1, 0);
  spelled.leg_links.clear();
  for (GraphPart& part : spelled.parts) part.leg_begin = 0;
  for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
    graph.visit_links(flow, [&](std::uint32_t link) { spelled.path.push_back(link); });
    spelled.path_begin.push_back(static_cast<std::uint32_t>(spelled.path.size()));
  }
  return spelled;
}

TEST_CASE("Flows whose links stand in legs have the classes of flows that list them",
          "[engine][refinement]") {
  std::mt19937 random(11);
  std::size_t links_in_legs = 0;
  std::size_t passed = 0;
  for (int problem = 0; problem < 200; ++problem) {
    std::vector<ClusterLink> links;
    const int copies = 1 + problem % 6;
    const std::vector<Pattern> patterns{random_copies(random, copies, links)};
    const FlowGraph graph = make_flow_graph(links, patterns);
    const FlowGraph spelled = without_legs(graph);
    REQUIRE(spelled.path.size() == patterns[0].path_links.size());
    const Partition partition = refine(graph);
    REQUIRE(partition == refine(spelled));
    const FlowProblem told = make_quotient(graph, partition).problem;
    const FlowProblem as_listed = make_quotient(spelled, partition).problem;
    REQUIRE(told.capacity == as_listed.capacity);
    REQUIRE(told.columns == as_listed.columns);
    links_in_legs += graph.leg_links.size();
    passed += spelled.path.size() + graph.flow_count() - graph.path.size();
  }
  CHECK(links_in_legs > 0);
  CHECK(passed > links_in_legs);  // a leg stands for several flows
}

TEST_CASE("What one rank sends passes one leg, told once", "[engine][refinement]") {
  // A link to the port and the port, for each of 8 ranks: rank r's are 2r and 2r + 1. Each sends to
  // all others, whose port and link it passes.
  constexpr int ranks = 8;
  std::vector<ClusterLink> links;
  for (int rank = 0; rank < ranks; ++rank) {
    links.push_back({bandwidth, latency, LinkKind::pcie});
    links.push_back({bandwidth, latency, LinkKind::network});
  }
  Pattern pattern;
  pattern.phases.emplace_back();
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto begin = static_cast<std::uint32_t>(pattern.path_links.size());
      for (const int link : {2 * from, 2 * from + 1, 2 * to + 1, 2 * to}) {
        pattern.path_links.push_back(link);
      }
      pattern.phases[0].flows.push_back({from, to, 1, 0, begin, 4});
    }
  }
  const FlowGraph graph = make_flow_graph(links, std::vector{pattern});
  CHECK(graph.leg_links.size() == 2 * 2 * ranks);      // two legs of two links a rank
  CHECK(graph.path.size() == 2 * graph.flow_count());  // of each flow two
  CHECK(refine(graph).flow_classes == 1);
  CHECK(refine(graph) == refine(without_legs(graph)));
  const FlowGraph twice = make_flow_graph(links, std::vector{pattern, pattern}, true);
  CHECK(twice.leg_links.size() == 2 * graph.leg_links.size());  // parts have none in common
  CHECK(refine(twice).flow_classes == 2);
  CHECK(refine(twice) == refine(without_legs(twice)));
}

TEST_CASE("Phases that are refined one by one have the classes of all at once",
          "[engine][refinement]") {
  auto links = toy::star(16, bandwidth, latency);
  links[5].capacity *= 4;
  Pattern pattern = toy::ring(toy::ranks(16), 3);
  pattern.phases.push_back(pattern.phases.front());
  for (PatternFlow& flow : pattern.phases.back().flows) flow.share /= 2;
  FlowGraph graph = make_flow_graph(links, std::vector{pattern, toy::ring(toy::ranks(8))}, true);
  REQUIRE(graph.parts.size() == 3);
  const Partition by_phase = refine(graph);
  graph.parts.resize(1);
  const Partition at_once = refine(graph);
  CHECK(by_phase == at_once);
}

TEST_CASE("Phases that are the same share their flows", "[engine][refinement]") {
  const auto links = toy::star(16, bandwidth, latency);
  Pattern pattern = toy::ring(toy::ranks(16), 3);
  const auto bound = [&](const Pattern& of) {
    const FlowGraph graph = make_flow_graph(links, std::vector{of});
    return make_quotient(graph, refine(graph)).patterns.at(0).seconds_per_byte;
  };
  const double once = bound(pattern);
  pattern.phases.push_back(pattern.phases.front());
  pattern.phases.push_back(pattern.phases.front());
  std::swap(pattern.phases.back().flows.front(), pattern.phases.back().flows.back());
  pattern.phases[1].steps *= 2;
  const FlowGraph graph = make_flow_graph(links, std::vector{pattern}, true);
  REQUIRE(graph.phases.size() == 3);
  CHECK(graph.parts.size() == 2);  // the third lists its flows in another order
  CHECK(graph.phases[1].flow_begin == graph.phases[0].flow_begin);
  CHECK(graph.phases[1].flow_end == graph.phases[0].flow_end);
  CHECK(graph.phases[1].steps == 2 * graph.phases[0].steps);
  CHECK(bound(pattern) == Approx(3 * once).epsilon(1e-12));
  Quotient quotient = make_quotient(graph, refine(graph));
  REQUIRE(quotient.couple());
  CHECK(quotient.problem.columns.size() == 2);
  const auto column = [&](std::size_t phase) {
    return quotient.patterns.at(0).phases.at(phase).groups.at(0).coupled.value().column;
  };
  CHECK(column(1) == column(0));
  CHECK(column(2) != column(0));
}

TEST_CASE("A quotient keeps one row for links that limit the same flows", "[engine][refinement]") {
  auto links = toy::star(16, bandwidth, latency);
  links[5].capacity *= 4;
  const FlowGraph graph = make_flow_graph(links, std::vector{toy::ring(toy::ranks(16), 3)});
  const Quotient quotient = make_quotient(graph, refine(graph));
  // Three flows on each link: one row of weight 1 for them, with a third of the capacity.
  for (const auto& column : quotient.problem.columns) {
    REQUIRE(column == std::vector<RowUse>{{column.at(0).row, 1}});
    CHECK(quotient.problem.capacity[column[0].row] == bandwidth / 3);
  }
}

TEST_CASE("A quotient tells of the groups and of the bottleneck", "[engine][refinement]") {
  const auto links = toy::star(16, bandwidth, latency);
  const FlowGraph graph = make_flow_graph(links, std::vector{toy::ring(toy::ranks(16), 3)});
  const PatternClasses pattern = make_quotient(graph, refine(graph)).patterns.at(0);
  REQUIRE(pattern.phases.at(0).groups.size() == 1);
  CHECK(pattern.phases[0].groups[0].flows == 16);
  // Bytes on a link: 3 channels of 2 * 15/16 / 3.
  CHECK(pattern.seconds_per_byte == Approx(2.0 * 15 / 16 / bandwidth).epsilon(1e-12));
}

}  // namespace
}  // namespace gradwire
