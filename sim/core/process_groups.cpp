#include "sim/core/process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "sim/core/error.hpp"

namespace gradwire {
namespace {

/// Ranks of each machine, machines in the order of their first ranks.
std::vector<std::vector<int>> ranks_by_machine(const Placement& placement) {
  std::vector<std::vector<int>> machines;
  std::map<int, std::size_t> place_of;
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const auto [at, is_first] = place_of.try_emplace(placement[rank].node, machines.size());
    if (is_first) machines.emplace_back();
    machines[at->second].push_back(static_cast<int>(rank));
  }
  return machines;
}

/// Adds a rank to the group of that number, which may be the family's next one.
void add_rank(GroupFamily& family, std::size_t number, int rank) {
  while (family.groups.size() <= number) {
    family.groups.push_back(
        {.name = fmt::format("{} {}", family.name, family.groups.size()), .ranks = {}});
  }
  family.groups[number].ranks.push_back(rank);
}

}  // namespace

std::vector<GroupFamily> placement_families(const Placement& placement) {
  GroupFamily all{.name = "all", .groups = {}};
  GroupFamily node{.name = "node", .groups = {}};
  GroupFamily across{.name = "across", .groups = {}};
  GroupFamily leaders{.name = "leaders", .groups = {}};
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    add_rank(all, 0, static_cast<int>(rank));
  }
  const auto machines = ranks_by_machine(placement);
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    const std::vector<int>& ranks = machines[machine];
    add_rank(leaders, 0, ranks.front());
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      add_rank(node, machine, ranks[local]);
      add_rank(across, local, ranks[local]);
    }
  }
  return {std::move(all), std::move(node), std::move(across), std::move(leaders)};
}

std::string name_of(ParallelAxis axis) {
  constexpr std::array names = {"tp", "cp", "dp", "pp", "ep", "edp"};
  return names[static_cast<std::size_t>(axis)];
}

ParallelLayout::ParallelLayout(const ParallelSizes& sizes) {
  const auto [tensor, context, expert, data, pipeline] = sizes;
  const std::array named = {std::pair{"tp", tensor}, std::pair{"cp", context},
                            std::pair{"ep", expert}, std::pair{"dp", data},
                            std::pair{"pp", pipeline}};
  for (const auto& [name, size] : named) {
    if (size >= 1) continue;
    throw SimulationError(
        fmt::format("{} is {}; expected a size of groups, at least 1", name, size));
  }
  if (context * data % expert != 0) {
    throw SimulationError(fmt::format("ep is {}; expected a divisor of cp * dp, which is {}",
                                      expert, context * data));
  }
  dense_ = {{ParallelAxis::tensor, tensor},
            {ParallelAxis::context, context},
            {ParallelAxis::data, data},
            {ParallelAxis::pipeline, pipeline}};
  experts_ = {{ParallelAxis::tensor, tensor},
              {ParallelAxis::expert, expert},
              {ParallelAxis::expert_data, context * data / expert},
              {ParallelAxis::pipeline, pipeline}};
  world_size_ = tensor * context * data * pipeline;
}

GroupFamily ParallelLayout::family(std::span<const ParallelAxis> axes) const {
  const auto wanted = [&](ParallelAxis axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  const bool of_experts = wanted(ParallelAxis::expert) || wanted(ParallelAxis::expert_data);
  if (of_experts && (wanted(ParallelAxis::context) || wanted(ParallelAxis::data))) {
    throw SimulationError("groups of ep or edp together with cp or dp; expected axes of one grid");
  }
  const std::vector<Extent>& grid = of_experts ? experts_ : dense_;
  GroupFamily family;
  int count = world_size_;
  for (const Extent& extent : grid) {
    if (!wanted(extent.axis)) continue;
    family.name += (family.name.empty() ? "" : "-") + name_of(extent.axis);
    count /= extent.size;
  }
  family.groups.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < world_size_; ++rank) {
    int left = rank;
    int number = 0;  // of the rank's group: its place on the axes that are not wanted
    int stride = 1;
    for (const Extent& extent : grid) {
      if (!wanted(extent.axis)) {
        number += stride * (left % extent.size);
        stride *= extent.size;
      }
      left /= extent.size;
    }
    add_rank(family, static_cast<std::size_t>(number), rank);
  }
  return family;
}

}  // namespace gradwire
