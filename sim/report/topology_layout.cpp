#include "sim/report/topology_layout.hpp"

#include <algorithm>
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
    if (mine.count == 0) mine = {static_cast<double>(result_.columns++), 1};
    result_.places[id] = {mine.sum / mine.count, -depth};
    const DeviceKind kind = node_.device(id).kind;
    const bool is_inner = kind != DeviceKind::gpu && kind != DeviceKind::nic;
    if (is_inner) deepest_ = std::max(deepest_, depth);
    return mine;
  }

  const NodeGraph& node_;
  std::vector<bool> seen_;
  double deepest_ = 0;
  NodeLayout result_;
};

}  // namespace

NodeLayout lay_out(const NodeGraph& node) {
  return Layout(node).run();
}

}  // namespace gradwire
