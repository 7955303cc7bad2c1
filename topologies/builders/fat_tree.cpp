#include "topologies/builders/fabrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "topologies/builders/machines.hpp"

namespace gradwire {
namespace {

using Switches = std::vector<Fabric::SwitchId>;

Switches add_row(Fabric& fabric, int count, const std::string& name) {
  Switches row;
  for (int i = 0; i < count; ++i) row.push_back(fabric.add_switch(fmt::format("{}{}", name, i)));
  return row;
}

void connect_rows(Fabric& fabric, std::span<const Fabric::SwitchId> below, const Switches& above,
                  int cables, const Link& trunk) {
  for (const auto lower : below) {
    for (const auto upper : above) {
      for (int i = 0; i < cables; ++i) fabric.connect(lower, upper, trunk);
    }
  }
}

}  // namespace

Fabric fat_tree(std::span<const PortGroup> groups, const FatTreeShape& shape) {
  assert(shape.machines_per_leaf >= 1 && shape.spines >= 1 && shape.cables_per_spine >= 1);
  assert((shape.leaves_per_pod > 0) == (shape.cores_per_spine > 0));
  Fabric fabric;
  fabric.kind = "fat_tree";
  const int per_leaf = shape.machines_per_leaf;
  const int leaves = std::max(1, (machine_count(groups) + per_leaf - 1) / per_leaf);
  const Switches leaf = add_row(fabric, leaves, "leaf");
  attach_all(fabric, groups, [&](int machine, int /*nic*/) {
    return leaf[static_cast<std::size_t>(machine / per_leaf)];
  });
  if (leaves == 1) return fabric;
  const bool has_pods = shape.leaves_per_pod > 0;
  const int per_pod = has_pods ? shape.leaves_per_pod : leaves;
  std::vector<Switches> pods;
  for (int begin = 0; begin < leaves; begin += per_pod) {
    const auto prefix = has_pods ? fmt::format("pod{}.", pods.size()) : "";
    pods.push_back(add_row(fabric, shape.spines, prefix + "spine"));
    const auto size = static_cast<std::size_t>(std::min(per_pod, leaves - begin));
    connect_rows(fabric, std::span(leaf).subspan(static_cast<std::size_t>(begin), size),
                 pods.back(), shape.cables_per_spine, shape.trunk);
  }
  if (pods.size() == 1) return fabric;
  for (int j = 0; j < shape.spines; ++j) {
    for (int c = 0; c < shape.cores_per_spine; ++c) {
      const auto core = fabric.add_switch(fmt::format("core{}", j * shape.cores_per_spine + c));
      for (const Switches& spines : pods) {
        fabric.connect(spines[static_cast<std::size_t>(j)], core, shape.trunk);
      }
    }
  }
  return fabric;
}

}  // namespace gradwire
