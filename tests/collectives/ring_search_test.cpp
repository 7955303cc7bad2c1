#include "sim/collectives/ring_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

LaneMatrix dgx1v_matrix(const std::vector<std::size_t>& gpus) {
  LaneMatrix matrix{.gpus = static_cast<int>(gpus.size()), .lanes = {}, .ports = {}};
  for (const std::size_t a : gpus) {
    for (const std::size_t b : gpus) matrix.lanes.push_back(test::dgx1v_lanes[a][b]);
    matrix.ports.push_back(6);
  }
  return matrix;
}

/// Every pair joined by `lanes`, but each GPU having only `ports`.
LaneMatrix complete(int gpus, int lanes, int ports) {
  const auto count = static_cast<std::size_t>(gpus);
  LaneMatrix matrix{gpus, std::vector<int>(count * count, lanes), std::vector<int>(count, ports)};
  for (std::size_t i = 0; i < count; ++i) matrix.lanes[i * (count + 1)] = 0;
  return matrix;
}

/// Lanes that the orders use, by direction; `is_closed` counts the way back to the start too.
std::map<std::pair<int, int>, int> lane_use(const std::vector<GpuOrder>& orders, bool is_closed) {
  std::map<std::pair<int, int>, int> use;
  for (const GpuOrder& order : orders) {
    for (std::size_t i = 0; i + 1 < order.size(); ++i) ++use[{order[i], order[i + 1]}];
    if (is_closed) ++use[{order.back(), order.front()}];
  }
  return use;
}

void check_orders(const LaneMatrix& matrix, const std::vector<GpuOrder>& orders, bool is_closed) {
  for (GpuOrder order : orders) {
    std::sort(order.begin(), order.end());
    GpuOrder all(static_cast<std::size_t>(matrix.gpus));
    std::iota(all.begin(), all.end(), 0);
    CHECK(order == all);
  }
  for (const auto& [hop, count] : lane_use(orders, is_closed)) {
    const auto row = matrix.lanes.begin() + static_cast<std::ptrdiff_t>(hop.first) * matrix.gpus;
    INFO("lane " << hop.first << " -> " << hop.second);
    CHECK(count <= row[hop.second]);
  }
}

}  // namespace

TEST_CASE("8 GPUs of a DGX-1V form 6 rings that use every lane in both directions",
          "[collectives][search]") {
  const LaneMatrix matrix = dgx1v_matrix({0, 1, 2, 3, 4, 5, 6, 7});
  const auto rings = find_rings(matrix);
  REQUIRE(rings.size() == 6);
  check_orders(matrix, rings, true);
  // 6 rings x 8 hops = 48 = 8 GPUs x 6 lanes, one direction each.
  const auto use = lane_use(rings, true);
  const int used = std::accumulate(use.begin(), use.end(), 0,
                                   [](int sum, const auto& entry) { return sum + entry.second; });
  CHECK(used == std::accumulate(matrix.lanes.begin(), matrix.lanes.end(), 0));
}

TEST_CASE("Subsets of a DGX-1V form the rings that their lanes give", "[collectives][search]") {
  // Published bus bandwidths over 22.5 GB/s a lane say the same (vTrain, 1 GiB): 22.6 GB/s on 2
  // GPUs, 45.1 on 3, 85.4 on 4, 45.7 on 6: 1, 2, 4 and 2 rings.
  const auto [gpus, count] = GENERATE(table<std::vector<std::size_t>, std::size_t>(
      {{{0, 1}, 1},
       {{0, 3}, 2},
       {{0, 1, 2}, 2},
       {{0, 1, 2, 3}, 4},
       {{0, 1, 2, 3, 4, 5}, 2},
       {{0, 1, 2, 3, 4}, 0},  // GPU 4 reaches GPU 0 only
       {{0, 5}, 0}}));
  const LaneMatrix matrix = dgx1v_matrix(gpus);
  const auto rings = find_rings(matrix);
  CHECK(rings.size() == count);
  check_orders(matrix, rings, true);
}

TEST_CASE("Lanes into a switch bound the rings, all in the same order", "[collectives][search]") {
  const auto rings = find_rings(complete(16, 6, 6));
  REQUIRE(rings.size() == 6);
  GpuOrder by_index(16);
  std::iota(by_index.begin(), by_index.end(), 0);
  for (const GpuOrder& ring : rings) CHECK(ring == by_index);
}

TEST_CASE("One GPU or no lane gives no ring", "[collectives][search]") {
  CHECK(find_rings(complete(1, 0, 6)).empty());
  CHECK(find_rings(complete(4, 0, 0)).empty());
}

TEST_CASE("Single lanes between all pairs of 8 GPUs give 7 rings", "[collectives][search]") {
  // The complete directed graph of n vertices splits into n-1 Hamiltonian cycles unless n is 4 or 6
  // (Tillson 1980): the search has to go back on its choices for this one.
  const LaneMatrix matrix = complete(8, 1, 7);
  const auto rings = find_rings(matrix);
  CHECK(rings.size() == 7);
  check_orders(matrix, rings, true);
}

TEST_CASE("A search that cannot have all rings settles for fewer", "[collectives][search]") {
  // Tillson's exceptions: 4 GPUs have 3 lanes each but no 3 disjoint rings; 2 are a way and back.
  const LaneMatrix matrix = complete(4, 1, 3);
  const auto rings = find_rings(matrix);
  CHECK(rings.size() == 2);
  check_orders(matrix, rings, true);
}

TEST_CASE("Paths begin and end where they are asked to and share no lane",
          "[collectives][search]") {
  const LaneMatrix matrix = dgx1v_matrix({0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<PathEnds> ends = {{0, 1}, {4, 5}, {2, 3}, {6, 7}};
  const auto paths = find_paths(matrix, {{ends[0]}, {ends[1]}, {ends[2]}, {ends[3]}});
  REQUIRE(paths.size() == 4);
  check_orders(matrix, paths, false);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK(paths[i].front() == ends[i].first);
    CHECK(paths[i].back() == ends[i].last);
  }
}

TEST_CASE("A path takes its second choice of ends where the first has no way",
          "[collectives][search]") {
  // 0 - 1 - 2 in a row: a path over all must begin and end at 0 and 2.
  const LaneMatrix row{3, {0, 1, 0, 1, 0, 1, 0, 1, 0}, {1, 2, 1}};
  const auto paths = find_paths(row, {{{0, 1}, {0, 2}}});
  REQUIRE(paths.size() == 1);
  CHECK(paths[0] == GpuOrder{0, 1, 2});
  // The second entry would need the same lanes again: one path is what there is.
  CHECK(find_paths(row, {{{0, 2}}, {{0, 2}}}).size() == 1);
}

TEST_CASE("A single GPU is a path of its own", "[collectives][search]") {
  const auto paths = find_paths(complete(1, 0, 0), {{{0, 0}}, {{0, 0}}});
  CHECK(paths == std::vector<GpuOrder>{{0}, {0}});
}

}  // namespace gradwire
