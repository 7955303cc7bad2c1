#include "strategies/peers/kungfu_graphs.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

using Levels = std::vector<std::vector<KungfuEdge>>;

int edges_of(const Levels& levels) {
  int count = 0;
  for (const auto& level : levels) count += static_cast<int>(level.size());
  return count;
}

/// Sums what every peer holds over the edges, then copies: does everybody end with all of it?
bool reduces_everything(const KungfuGraphPair& pair, int peers) {
  std::vector<int> held(static_cast<std::size_t>(peers), 1);
  for (const auto& level : pair.reduce) {
    for (const auto& edge : level) {
      held[static_cast<std::size_t>(edge.to)] += held[static_cast<std::size_t>(edge.from)];
    }
  }
  for (const auto& level : pair.broadcast) {
    for (const auto& edge : level) {
      held[static_cast<std::size_t>(edge.to)] = held[static_cast<std::size_t>(edge.from)];
    }
  }
  return std::ranges::all_of(held, [&](int sum) { return sum == peers; });
}

const std::vector<int> two_by_four = {0, 0, 0, 0, 1, 1, 1, 1};

}  // namespace

TEST_CASE("every KungFu graph sums all peers and gives it to all, over P - 1 edges each way",
          "[kungfu]") {
  const auto graph = static_cast<KungfuGraph>(GENERATE(range(0, 9)));
  const int peers = GENERATE(1, 2, 3, 7, 8, 64);
  const int per_machine = GENERATE(1, 4);
  std::vector<int> machine_of;
  for (int peer = 0; peer < peers; ++peer) machine_of.push_back(peer / per_machine);
  for (const auto& pair : kungfu_graphs(graph, machine_of, peers)) {
    CHECK(edges_of(pair.reduce) == peers - 1);
    CHECK(edges_of(pair.broadcast) == peers - 1);
    CHECK(reduces_everything(pair, peers));
  }
}

TEST_CASE("KungFu has one graph a machine, a peer, or one in all", "[kungfu]") {
  const auto count = [](KungfuGraph graph) {
    return kungfu_graphs(graph, two_by_four, 100).size();
  };
  CHECK(count(KungfuGraph::star) == 1);
  CHECK(count(KungfuGraph::multi_star) == 2);
  CHECK(count(KungfuGraph::clique) == 8);
  CHECK(count(KungfuGraph::ring) == 8);
  CHECK(count(KungfuGraph::tree) == 1);
  CHECK(count(KungfuGraph::binary_tree) == 1);
  CHECK(count(KungfuGraph::binary_tree_star) == 1);
  CHECK(count(KungfuGraph::multi_binary_tree_star) == 2);
}

TEST_CASE("BINARY_TREE_STAR is local stars below a heap of the machines' first peers", "[kungfu]") {
  const auto pair = kungfu_graphs(KungfuGraph::binary_tree_star, two_by_four, 1).front();
  // Peers 1-3 to 0 and 5-7 to 4; then 4 to 0. Back: 0 to 1-4, then 4 to 5-7.
  REQUIRE(pair.reduce.size() == 2);
  CHECK(pair.reduce[0].size() == 6);
  CHECK(pair.reduce[1] == std::vector<KungfuEdge>{{4, 0}});
  REQUIRE(pair.broadcast.size() == 2);
  CHECK(pair.broadcast[0] == std::vector<KungfuEdge>{{0, 1}, {0, 2}, {0, 3}, {0, 4}});
}

TEST_CASE("a ring graph is a chain of P - 1 steps to its root and one from it", "[kungfu]") {
  const auto rings = kungfu_graphs(KungfuGraph::ring, {0, 1, 2}, 2);
  REQUIRE(rings.size() == 2);
  // Root 1: 2 to 0, 0 to 1; then 1 to 2, 2 to 0.
  CHECK(rings[1].reduce == Levels{{{2, 0}}, {{0, 1}}});
  CHECK(rings[1].broadcast == Levels{{{1, 2}}, {{2, 0}}});
}

TEST_CASE("AUTO is a star on one machine and BINARY_TREE_STAR on several", "[kungfu]") {
  CHECK(kungfu_graphs(KungfuGraph::automatic, {0, 0, 0}, 1).front().broadcast ==
        kungfu_graphs(KungfuGraph::star, {0, 0, 0}, 1).front().broadcast);
  CHECK(kungfu_graphs(KungfuGraph::automatic, two_by_four, 1).front().broadcast ==
        kungfu_graphs(KungfuGraph::binary_tree_star, two_by_four, 1).front().broadcast);
}
