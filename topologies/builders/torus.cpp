#include "topologies/builders/fabrics.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <string>

#include "topologies/builders/machines.hpp"

namespace gradwire {
namespace {

/// Counts through the grid.
class Grid {
 public:
  explicit Grid(const std::vector<int>& dimensions) {
    for (const int size : dimensions) size_.push_back(static_cast<std::size_t>(size));
    stride_.assign(size_.size(), 1);
    for (std::size_t d = size_.size() - 1; d-- > 0;) stride_[d] = stride_[d + 1] * size_[d + 1];
  }

  [[nodiscard]] std::size_t dimensions() const { return size_.size(); }
  [[nodiscard]] std::size_t size(std::size_t d) const { return size_[d]; }
  [[nodiscard]] std::size_t switches() const { return stride_.front() * size_.front(); }
  [[nodiscard]] std::size_t coordinate(std::size_t id, std::size_t d) const {
    return id / stride_[d] % size_[d];
  }
  /// The switch whose coordinate d is `steps` further, round the end.
  [[nodiscard]] std::size_t shifted(std::size_t id, std::size_t d, std::size_t steps) const {
    const std::size_t old = coordinate(id, d);
    return id - old * stride_[d] + (old + steps) % size_[d] * stride_[d];
  }

 private:
  std::vector<std::size_t> size_;
  std::vector<std::size_t> stride_;
};

std::vector<int> dimension_order_route(const Grid& grid, const Fabric& fabric,
                                       Fabric::SwitchId from, Fabric::SwitchId to) {
  std::vector<int> trunks;
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    const std::size_t size = grid.size(d);
    const std::size_t up = (grid.coordinate(to, d) + size - grid.coordinate(from, d)) % size;
    const bool upward = up <= size - up;
    for (std::size_t left = upward ? up : size - up; left > 0; --left) {
      const Fabric::SwitchId next = grid.shifted(from, d, upward ? 1 : size - 1);
      trunks.push_back(fabric.trunk_between(from, next));
      from = next;
    }
  }
  return trunks;
}

std::string name_of(const Grid& grid, std::size_t id) {
  std::string name = "switch";
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    name += fmt::format("{}{}", d == 0 ? "" : ".", grid.coordinate(id, d));
  }
  return name;
}

}  // namespace

Fabric torus(std::span<const PortGroup> groups, const TorusShape& shape) {
  assert(!shape.dimensions.empty() && shape.machines_per_switch >= 1);
  const Grid grid(shape.dimensions);
  Fabric fabric;
  fabric.kind = "torus";
  for (std::size_t id = 0; id < grid.switches(); ++id) fabric.add_switch(name_of(grid, id));
  for (std::size_t id = 0; id < grid.switches(); ++id) {
    for (std::size_t d = 0; d < grid.dimensions(); ++d) {
      const bool closes_pair = grid.size(d) == 2 && grid.coordinate(id, d) == 1;
      if (grid.size(d) == 1 || closes_pair) continue;
      fabric.connect(id, grid.shifted(id, d, 1), shape.trunk);
    }
  }
  attach_all(fabric, groups, [&](int machine, int /*nic*/) {
    return static_cast<Fabric::SwitchId>(machine / shape.machines_per_switch);
  });
  fabric.rule = [grid](const Fabric& own, Fabric::SwitchId from, Fabric::SwitchId to,
                       std::uint64_t /*pick*/) {
    return dimension_order_route(grid, own, from, to);
  };
  return fabric;
}

}  // namespace gradwire
