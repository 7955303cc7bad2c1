#include "sim/core/process_groups.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

using Ranks = std::vector<int>;

std::vector<ProcessGroup> groups(const ParallelLayout& layout, std::vector<ParallelAxis> axes) {
  return layout.family(axes).groups;
}

std::vector<Ranks> ranks(const ParallelLayout& layout, std::vector<ParallelAxis> axes) {
  std::vector<Ranks> result;
  for (const ProcessGroup& group : groups(layout, std::move(axes))) result.push_back(group.ranks);
  return result;
}

// The example that initialize_model_parallel gives (Megatron-LM, megatron/core/parallel_state.py):
// 16 GPUs, tensor size 2, pipeline size 4, hence 2 replicas.
TEST_CASE("sixteen ranks with tp 2 and pp 4 form the groups of Megatron's example",
          "[process_groups]") {
  const ParallelLayout layout({.tensor = 2, .data = 2, .pipeline = 4});
  CHECK(layout.world_size() == 16);
  CHECK(ranks(layout, {ParallelAxis::tensor}) ==
        std::vector<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(ranks(layout, {ParallelAxis::pipeline}) ==
        std::vector<Ranks>{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  CHECK(ranks(layout, {ParallelAxis::data}) ==
        std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
}

// A model-parallel group (tp x pp) is one replica: of ranks r with the same (r / tp) mod dp.
TEST_CASE("products of axes are groups of all ranks that differ in them", "[process_groups]") {
  const ParallelLayout layout({.tensor = 2, .data = 2, .pipeline = 2});
  CHECK(ranks(layout, {ParallelAxis::pipeline, ParallelAxis::tensor}) ==
        std::vector<Ranks>{{0, 1, 4, 5}, {2, 3, 6, 7}});
  CHECK(ranks(layout, {ParallelAxis::tensor, ParallelAxis::data}) ==
        std::vector<Ranks>{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(ranks(layout, {ParallelAxis::tensor, ParallelAxis::context, ParallelAxis::data,
                       ParallelAxis::pipeline}) == std::vector<Ranks>{{0, 1, 2, 3, 4, 5, 6, 7}});
}

// rank = t + tp * (c + cp * d), with tp = cp = dp = 2.
TEST_CASE("context ranks stand between tensor ranks and replicas", "[process_groups]") {
  const ParallelLayout layout({.tensor = 2, .context = 2, .data = 2});
  CHECK(ranks(layout, {ParallelAxis::context}) ==
        std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(ranks(layout, {ParallelAxis::data}) == std::vector<Ranks>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

// rank = t + tp * (e + ep * (x + edp * p)) with ep * edp = cp * dp: tp 1, cp 2, dp 4, ep 4, edp 2.
TEST_CASE("experts are spread over the ranks of context and data", "[process_groups]") {
  const ParallelLayout layout({.context = 2, .expert = 4, .data = 4, .pipeline = 2});
  CHECK(layout.world_size() == 16);
  CHECK(ranks(layout, {ParallelAxis::expert}) ==
        std::vector<Ranks>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}});
  CHECK(ranks(layout, {ParallelAxis::expert_data}).front() == Ranks{0, 4});
  CHECK(ranks(layout, {ParallelAxis::expert, ParallelAxis::pipeline}).front() ==
        Ranks{0, 1, 2, 3, 8, 9, 10, 11});
}

TEST_CASE("every rank is in one group of a family, which names it", "[process_groups]") {
  const ParallelLayout layout({.tensor = 3, .context = 2, .expert = 5, .data = 5, .pipeline = 4});
  for (const ParallelAxis axis :
       {ParallelAxis::tensor, ParallelAxis::context, ParallelAxis::data, ParallelAxis::pipeline,
        ParallelAxis::expert, ParallelAxis::expert_data}) {
    Ranks seen;
    const auto family = groups(layout, {axis});
    for (std::size_t number = 0; number < family.size(); ++number) {
      CHECK(family[number].name == name_of(axis) + " " + std::to_string(number));
      seen.insert(seen.end(), family[number].ranks.begin(), family[number].ranks.end());
    }
    std::sort(seen.begin(), seen.end());
    Ranks all(static_cast<std::size_t>(layout.world_size()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank] = static_cast<int>(rank);
    CHECK(seen == all);
  }
  CHECK(groups(layout, {ParallelAxis::data, ParallelAxis::tensor}).at(1).name == "tp-dp 1");
}

// Machines 5 and 3 with ranks 0, 2 and 1, 3, 4: rank 0 stands on machine 5, which thus comes first.
TEST_CASE("a placement's families count machines by their first ranks", "[process_groups]") {
  const auto made = placement_families({{5, 0}, {3, 0}, {5, 1}, {3, 1}, {3, 2}});
  CHECK(made == std::vector<GroupFamily>{
                    {"all", {{"all 0", {0, 1, 2, 3, 4}}}},
                    {"node", {{"node 0", {0, 2}}, {"node 1", {1, 3, 4}}}},
                    {"across", {{"across 0", {0, 1}}, {"across 1", {2, 3}}, {"across 2", {4}}}},
                    {"leaders", {{"leaders 0", {0, 1}}}}});
  CHECK(made[static_cast<std::size_t>(families::across)].name == "across");
  CHECK(made.size() == static_cast<std::size_t>(families::own));
}

TEST_CASE("a layout refuses sizes that form no groups", "[process_groups]") {
  CHECK_THROWS_WITH(ParallelLayout({.tensor = 0}),
                    "tp is 0; expected a size of groups, at least 1");
  CHECK_THROWS_WITH(ParallelLayout({.context = 2, .expert = 4, .data = 3}),
                    "ep is 4; expected a divisor of cp * dp, which is 6");
  const ParallelLayout layout({.expert = 2, .data = 4});
  CHECK_THROWS_AS(groups(layout, {ParallelAxis::expert, ParallelAxis::data}), SimulationError);
}

}  // namespace
}  // namespace gradwire
