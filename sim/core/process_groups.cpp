#include "sim/core/process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/core/error.hpp"

namespace gradwire {

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

std::vector<ProcessGroup> ParallelLayout::groups(std::span<const ParallelAxis> axes) const {
  const auto wanted = [&](ParallelAxis axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  const bool of_experts = wanted(ParallelAxis::expert) || wanted(ParallelAxis::expert_data);
  if (of_experts && (wanted(ParallelAxis::context) || wanted(ParallelAxis::data))) {
    throw SimulationError("groups of ep or edp together with cp or dp; expected axes of one grid");
  }
  const std::vector<Extent>& grid = of_experts ? experts_ : dense_;
  std::string family;
  int count = world_size_;
  for (const Extent& extent : grid) {
    if (!wanted(extent.axis)) continue;
    family += (family.empty() ? "" : "-") + name_of(extent.axis);
    count /= extent.size;
  }
  std::vector<ProcessGroup> groups;
  groups.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) {
    groups.push_back({.name = fmt::format("{} {}", family, number), .ranks = {}});
  }
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
    groups[static_cast<std::size_t>(number)].ranks.push_back(rank);
  }
  return groups;
}

}  // namespace gradwire
