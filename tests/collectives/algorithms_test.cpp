#include "sim/collectives/algorithms.hpp"

#include <bit>
#include <functional>
#include <map>
#include <string>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/data_flow.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/collectives/shares.hpp"

namespace gradwire {
namespace {

struct Shape {
  std::string what;
  Cluster cluster;
  Placement members;
};

Cluster machines(int count, const std::shared_ptr<const NodeGraph>& node) {
  return test::cluster_of(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(count), node));
}

/// The first `ranks` of a placement.
Placement first(int ranks, Placement placement) {
  placement.resize(static_cast<std::size_t>(ranks));
  return placement;
}

/// Machines of several kinds and fillings for `ranks` ranks.
std::vector<Shape> shapes_for(int ranks) {
  std::vector<Shape> shapes;
  const auto add = [&](std::string what, Cluster cluster, const Placement& placement) {
    shapes.push_back({std::move(what), std::move(cluster), first(ranks, placement)});
  };
  const auto wide = std::make_shared<const NodeGraph>(test::pcie_node(ranks, 1));
  const Cluster one = test::cluster_of({wide});
  add("one machine, PCIe", one, packed_placement(one, ranks));
  const Cluster full = test::dgx1v_cluster((ranks + 7) / 8);
  add("DGX-1V, full", full, packed_placement(full, 8));
  const Cluster single = test::dgx1v_cluster(ranks);
  add("a rank a machine", single, packed_placement(single, 1));
  const Cluster pairs = machines((ranks + 1) / 2, test::nvswitch_node());
  add("two ranks a machine, dealt out", pairs, round_robin_placement(pairs, 2));
  const Cluster mixed = test::cluster_of({test::dgx1v(), test::nvswitch_node(), wide});
  add("three kinds of machines, unevenly filled", mixed,
      packed_placement(std::vector<int>{3, 5, ranks}));
  return shapes;
}

/// Calls `visit(variant, pattern)` for each variant that runs on these ranks.
/// @return how many.
int for_each_pattern(const Shape& shape,
                     const std::function<void(const Algorithm&, const Pattern&)>& visit) {
  int planned = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const AlgorithmVariant& variant : algorithm.variants) {
      Pattern pattern;
      try {
        pattern = variant.plan(shape.cluster, shape.members);
      } catch (const SimulationError&) {
        continue;  // it says why not; which ones may refuse is tested by name
      }
      INFO(algorithm.name << ' ' << name_of(variant.kind) << ", " << shape.members.size()
                          << " ranks, " << shape.what);
      CHECK(pattern.kind == variant.kind);
      CHECK(pattern.algorithm == algorithm.name);
      CHECK(pattern.key != 0);
      visit(algorithm, pattern);
      ++planned;
    }
  }
  return planned;
}

int log2_floor(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1;
}
int log2_ceil(int n) {
  return n == 1 ? 0 : log2_floor(n - 1) + 1;
}
bool is_power_of_two(int n) {
  return std::has_single_bit(static_cast<unsigned>(n));
}

using Formula = double (*)(int n);
using Key = std::pair<std::string_view, CollectiveKind>;

double others(int n) {
  return (n - 1.0) / n;
}

/// Share of the size that the busiest rank sends, by the formulas that the planners' headers give.
const std::map<Key, Formula>& sent_by_busiest() {
  using enum CollectiveKind;
  static const Formula whole = [](int) { return 1.0; };
  static const std::map<Key, Formula> formulas = {
      {{"ring", all_reduce}, [](int n) { return 2 * others(n); }},
      {{"ring", reduce_scatter}, others},
      {{"ring", all_gather}, others},
      {{"ring", broadcast}, whole},
      {{"ring", reduce}, whole},
      {{"ring", send_recv}, whole},
      {{"halving_doubling", all_reduce},
       // Binary blocks: a rank of a block between two others sends all down and all up. Of two
       // blocks, the larger one has p ranks: (p-1)/p in each direction, and its part to the other.
       [](int n) {
         const int blocks = std::popcount(static_cast<unsigned>(n));
         const double p = 1 << log2_floor(n);
         return blocks == 1 ? 2 * others(n) : blocks == 2 ? 2 - 1 / p : 2;
       }},
      {{"recursive_doubling", all_reduce},
       [](int n) { return log2_floor(n) + (is_power_of_two(n) ? 0.0 : 1.0); }},
      {{"rabenseifner", all_reduce},
       [](int n) {
         const int p = 1 << log2_floor(n);
         return 2 * others(p) + (p == n ? 0 : 1);
       }},
      {{"binomial_tree", broadcast}, [](int n) { return 1.0 * log2_ceil(n); }},
      {{"binomial_tree", reduce}, whole},
      {{"binomial_tree", scatter}, others},
      {{"pairwise", all_to_all}, others},
      {{"direct", all_to_all}, others},
      {{"direct", gather}, [](int n) { return 1.0 / n; }},
      {{"direct", scatter}, others},
      {{"direct", send_recv}, whole},
      {{"hierarchical", all_reduce}, [](int n) { return 2 * others(n); }},
      {{"hierarchical", reduce_scatter}, others},
      {{"hierarchical", all_gather}, others},
      {{"torus", all_reduce}, [](int n) { return 2 * others(n); }},
  };
  return formulas;
}

/// Steps that follow each other: of all phases together.
int steps_of(const Pattern& pattern) {
  int steps = 0;
  for (const Phase& phase : pattern.phases) steps += phase.steps;
  return steps;
}

}  // namespace

TEST_CASE("Every algorithm of ranks alone brings every rank the data it needs, and enough of them",
          "[collectives][oracle]") {
  const int ranks = GENERATE(range(2, 18));
  int planned = 0;
  for (const Shape& shape : shapes_for(ranks)) {
    planned += for_each_pattern(shape, [&](const Algorithm& algorithm, const Pattern& pattern) {
      if (test::switches_reduce(algorithm.name)) return;
      CHECK(test::what_is_missing(pattern).empty());
    });
  }
  CHECK(planned >= 5 * 22);  // five shapes, all variants that run on any number of ranks
}

TEST_CASE("The oracle sees a flow that is missing, too small, too early or the wrong way round",
          "[collectives][oracle]") {
  const Cluster cluster = test::dgx1v_cluster(8);
  const Placement members = packed_placement(cluster, 1);
  const auto is_right = [](const Pattern& pattern) {
    return test::what_is_missing(pattern).empty();
  };
  using enum CollectiveKind;
  const auto planned = GENERATE_COPY(values<std::pair<std::string_view, CollectiveKind>>({
      {"ring", all_reduce},
      {"ring", broadcast},
      {"halving_doubling", all_reduce},
      {"recursive_doubling", all_gather},
      {"rabenseifner", reduce},
      {"binomial_tree", scatter},
      {"pairwise", all_to_all},
  }));
  INFO(planned.first << ' ' << name_of(planned.second));
  const Pattern right = plan_collective(planned.second, planned.first, cluster, members);
  CHECK(is_right(right));
  Pattern missing = right;
  missing.phases.back().flows.pop_back();
  CHECK_FALSE(is_right(missing));
  Pattern small = right;
  for (PatternFlow& flow : small.phases.back().flows) flow.share *= 0.4;
  CHECK_FALSE(is_right(small));
  Pattern turned = right;
  std::swap(turned.phases.back().flows.back().source,
            turned.phases.back().flows.back().destination);
  CHECK_FALSE(is_right(turned));
  if (right.phases.size() > 1 && right.kind != all_to_all) {  // whose rounds need no order
    Pattern early = right;
    std::swap(early.phases.front(), early.phases.back());
    const bool is_symmetric = planned.first == "halving_doubling" || planned.second == all_gather;
    if (!is_symmetric) CHECK_FALSE(is_right(early));
  }
}

TEST_CASE("The busiest rank sends the bytes that the algorithm's formula says", "[collectives]") {
  const int ranks = GENERATE(range(2, 18));
  for (const Shape& shape : shapes_for(ranks)) {
    for_each_pattern(shape, [&](const Algorithm& algorithm, const Pattern& pattern) {
      const auto formula = sent_by_busiest().find({algorithm.name, pattern.kind});
      if (formula == sent_by_busiest().end()) return;
      CHECK(test::share_per_rank(pattern) == Approx(formula->second(ranks)));
    });
  }
}

TEST_CASE("All-gathers by exchanges bring (n-1)/n of the size and no more", "[collectives]") {
  const int ranks = GENERATE(range(2, 18));
  const Cluster cluster = test::dgx1v_cluster(ranks);
  const Placement members = packed_placement(cluster, 1);
  using enum CollectiveKind;
  for (const auto& [algorithm, kind] : {std::pair{"halving_doubling", reduce_scatter},
                                        {"halving_doubling", all_gather},
                                        {"recursive_doubling", all_gather}}) {
    INFO(algorithm << ' ' << name_of(kind) << ' ' << ranks);
    const Pattern pattern = plan_collective(kind, algorithm, cluster, members);
    // Nobody is sent what it has; the reduce-scatter is the same backwards: nobody sends twice.
    std::map<int, double> moved;
    for (const Phase& phase : pattern.phases) {
      for (const PatternFlow& flow : phase.flows) {
        moved[kind == all_gather ? flow.destination : flow.source] += flow.share;
      }
    }
    for (const auto& [rank, share] : moved) CHECK(share == Approx(others(ranks)));
    CHECK(moved.size() == members.size());
    // A partner holds at most 2, 4, ..., p parts before each exchange, and hands back n-1 parts.
    const double p = 1 << log2_floor(ranks);
    const double bound = is_power_of_two(ranks) ? ranks - 1 : 2 * (p - 1) + ranks - 1;
    CHECK(test::share_per_rank(pattern) <= bound / ranks * (1 + 1e-12));
    CHECK(steps_of(pattern) == log2_floor(ranks) + (is_power_of_two(ranks) ? 0 : 2));
  }
}

TEST_CASE("Gathers send no more than their subtree holds", "[collectives]") {
  const int ranks = GENERATE(range(2, 18));
  const Cluster cluster = test::dgx1v_cluster(ranks);
  const Placement members = packed_placement(cluster, 1);
  using enum CollectiveKind;
  // A subtree holds at most half of the next power of two.
  const double half = 0.5 * (1 << log2_ceil(ranks)) / ranks;
  CHECK(test::share_per_rank(plan_collective(gather, "binomial_tree", cluster, members)) <=
        half * (1 + 1e-12));
  const int p = 1 << log2_floor(ranks);  // halving, then at most half of the vector
  CHECK(test::share_per_rank(plan_collective(reduce, "rabenseifner", cluster, members)) <=
        std::max(1.0, others(p) + 0.5));
}

TEST_CASE("Algorithms take the steps that their formulas say", "[collectives]") {
  const int ranks = GENERATE(range(2, 18));
  const Cluster cluster = test::dgx1v_cluster(ranks);
  const Placement members = packed_placement(cluster, 1);
  const auto steps = [&](CollectiveKind kind, std::string_view algorithm) {
    return steps_of(plan_collective(kind, algorithm, cluster, members));
  };
  using enum CollectiveKind;
  const int folds = is_power_of_two(ranks) ? 0 : 1;
  const int down = log2_floor(ranks);
  CHECK(steps(all_reduce, "ring") == 2 * (ranks - 1));
  CHECK(steps(reduce_scatter, "ring") == ranks - 1);
  CHECK(steps(all_gather, "ring") == ranks - 1);
  CHECK(steps(all_reduce, "halving_doubling") == 2 * down);
  CHECK(steps(all_reduce, "recursive_doubling") == down + 2 * folds);
  CHECK(steps(all_reduce, "rabenseifner") == 2 * down + 2 * folds);
  CHECK(steps(reduce, "rabenseifner") == 2 * down + folds);
  for (const CollectiveKind kind : {broadcast, reduce, gather, scatter}) {
    CHECK(steps(kind, "binomial_tree") == log2_ceil(ranks));
  }
  CHECK(steps(all_to_all, "pairwise") == ranks - 1);
  CHECK(steps(all_to_all, "direct") == 1);
  CHECK(steps(send_recv, "ring") == 1);
}

TEST_CASE("A single rank has nothing to exchange in any algorithm", "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(1);
  for (const Algorithm& algorithm : algorithms()) {
    for (const AlgorithmVariant& variant : algorithm.variants) {
      INFO(algorithm.name << ' ' << name_of(variant.kind));
      const Pattern pattern = variant.plan(cluster, test::on_node0({3}));
      CHECK(pattern.phases.empty());
      CHECK(pattern.ranks == 1);
      CHECK(pattern.kind == variant.kind);
    }
  }
}

TEST_CASE("Every algorithm refuses ranks that share a GPU and machines without a NIC",
          "[collectives]") {
  const Cluster one = test::dgx1v_cluster(1);
  const auto bare = std::make_shared<const NodeGraph>(test::pcie_node(2, 0));
  const Cluster two = test::cluster_of({test::dgx1v(), bare});
  for (const Algorithm& algorithm : algorithms()) {
    for (const AlgorithmVariant& variant : algorithm.variants) {
      INFO(algorithm.name << ' ' << name_of(variant.kind));
      CHECK_THROWS_AS(variant.plan(one, test::on_node0({2, 5, 2})), SimulationError);
      CHECK_THROWS_AS(variant.plan(two, {{0, 0}, {1, 0}}), SimulationError);
    }
  }
}

TEST_CASE("An algorithm that is not there or does not do a kind is refused with those that do",
          "[collectives]") {
  const Cluster cluster = test::dgx1v_cluster(1);
  CHECK_THROWS_WITH(
      plan_collective(CollectiveKind::all_to_all, "ring", cluster, test::on_node0({0, 1})),
      Catch::Matchers::StartsWith("no algorithm 'ring' for all_to_all; expected pairwise, direct"));
  CHECK(find_algorithm("rnig", CollectiveKind::all_reduce) == nullptr);
  CHECK(find_algorithm("ring", CollectiveKind::gather) == nullptr);
}

}  // namespace gradwire
