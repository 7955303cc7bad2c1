#include "sim/report/topology_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gradwire {
namespace {

/// Places one PCIe tree after the other, leaves in columns, each inner device over its GPUs.
class Layout {
 public:
  explicit Layout(const NodeGraph& node)
      : node_(node), seen_(boost::num_vertices(node.graph()), false) {
    result_.places.resize(seen_.size());
    result_.numa.resize(seen_.size());
  }

  NodeLayout run() {
    const auto devices = boost::make_iterator_range(boost::vertices(node_.graph()));
    for (const DeviceId id : devices) {
      if (node_.device(id).kind == DeviceKind::numa) place(id, id, 0, false);
    }
    for (const DeviceId id : devices) {
      const bool is_orphan = !seen_[id] && node_.device(id).kind != DeviceKind::nvswitch;
      if (is_orphan) place(id, id, 0, false);
    }
    result_.gpu_row = -(deepest_ + 1);
    for (const DeviceId id : node_.gpus()) result_.places[id].y = result_.gpu_row;
    for (const DeviceId id : node_.nics()) result_.places[id].y = nic_row;
    for (const DeviceId id : devices) {
      if (node_.device(id).kind != DeviceKind::nvswitch) continue;
      result_.numa[id] = id;
      result_.places[id] = {(result_.columns - 1) / 2.0, result_.gpu_row - 1.5};
    }
    return std::move(result_);
  }

 private:
  /// Leaves below a device: the columns that it stands over.
  struct Leaves {
    double sum = 0;
    int count = 0;
  };

  /// @param nics_left  NICs stand left of its GPUs, so that their lines pass beside what is above.
  /// @return the GPUs below `id` (all leaves where there is none).
  Leaves place(DeviceId id, DeviceId root, double depth, bool nics_left) {
    seen_[id] = true;
    result_.numa[id] = root;
    const std::size_t first_column = is_nic_column_.size();
    std::vector<DeviceId> children;
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(id, node_.graph()))) {
      const DeviceId child = boost::target(edge, node_.graph());
      const bool below = node_.graph()[edge].kind == LinkKind::pcie && !seen_[child];
      if (below) children.push_back(child);
    }
    const auto is_nic = [&](DeviceId child) { return node_.device(child).kind == DeviceKind::nic; };
    std::stable_partition(children.begin(), children.end(),
                          [&](DeviceId child) { return is_nic(child) == nics_left; });
    Leaves gpus;
    Leaves others;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const DeviceId child = children[i];
      const Leaves below = place(child, root, depth + 1, i < children.size() / 2);
      Leaves& sum = is_nic(child) ? others : gpus;
      sum.sum += below.sum;
      sum.count += below.count;
    }
    Leaves mine = gpus.count > 0 ? gpus : others;
    if (mine.count == 0) {
      mine = {static_cast<double>(result_.columns++), 1};
      is_nic_column_.push_back(is_nic(id));
    }
    result_.places[id] = {beside_nics(mine.sum / mine.count, first_column), -depth};
    const DeviceKind kind = node_.device(id).kind;
    const bool is_inner = kind != DeviceKind::gpu && kind != DeviceKind::nic;
    if (is_inner) deepest_ = std::max(deepest_, depth);
    return mine;
  }

  /// Where an inner device stands that should stand at `x`: NICs' lines go up in their columns, so
  /// it takes the nearest other column of its leaves, if there is one.
  [[nodiscard]] double beside_nics(double x, std::size_t first_column) const {
    const auto distance = [&](std::size_t column) {
      return std::abs(static_cast<double>(column) - x);
    };
    bool crossed = false;
    std::size_t nearest = is_nic_column_.size();
    for (std::size_t column = first_column; column < is_nic_column_.size(); ++column) {
      if (is_nic_column_[column]) {
        crossed = crossed || distance(column) < 0.9;
      } else if (nearest == is_nic_column_.size() || distance(column) < distance(nearest)) {
        nearest = column;
      }
    }
    return crossed && nearest < is_nic_column_.size() ? static_cast<double>(nearest) : x;
  }

  const NodeGraph& node_;
  std::vector<bool> seen_;
  std::vector<bool> is_nic_column_;
  double deepest_ = 0;
  NodeLayout result_;
};

}  // namespace

NodeLayout lay_out(const NodeGraph& node) {
  return Layout(node).run();
}

}  // namespace gradwire
