#include "sim/report/topology_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/report/fabric_fold.hpp"

namespace gradwire {
namespace {

/// A fabric of so many switches is drawn as it is; a larger one folded, so many boxes in a row.
constexpr std::size_t switches_drawn_max = 12;
constexpr std::size_t row_max = 16;
/// Rows from a NIC to its switch, so that the fabric stands below the frame around a machine.
constexpr int below_frame = 2;

std::string_view fill_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "#c8e6c9";
    case DeviceKind::nvswitch:
      return "#a5d6a7";
    case DeviceKind::numa:
      return "#eceff1";
    case DeviceKind::host_bridge:
      return "#e1d5e7";
    case DeviceKind::pcie_switch:
      return "#dae8fc";
    case DeviceKind::nic:
      return "#ffe0b2";
  }
  return "";
}

std::string_view color_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "#2e7d32";
    case LinkKind::pcie:
      return "#78909c";
    case LinkKind::smp:
      return "#c62828";
    case LinkKind::network:
      return "#ef6c00";
  }
  return "";
}

/// "22.5": GB/s without trailing zeros.
std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{:.4g}", rate.count() / 1e9);
}

/// Of each device: how far below the NUMA nodes it hangs by PCIe, and below which (its own id where
/// below none). NVSwitches are below the GPUs.
struct Places {
  std::vector<int> depth;
  std::vector<DeviceId> numa;
};

Places places_of(const NodeGraph& node) {
  const DeviceGraph& graph = node.graph();
  const std::size_t devices = graph.vertices().size();
  constexpr int unknown = -1;
  Places places{std::vector<int>(devices, unknown), std::vector<DeviceId>(devices)};
  std::vector<DeviceId> open;
  const auto begin = [&](DeviceId id) {
    places.depth[id] = 0;
    places.numa[id] = id;
    open.push_back(id);
  };
  const auto spread = [&] {
    for (std::size_t next = 0; next < open.size(); ++next) {
      const DeviceId id = open[next];
      for (const auto& edge : graph.out_edges(id)) {
        const DeviceId child = edge.target;
        if (graph[edge].kind != LinkKind::pcie || places.depth[child] != unknown) continue;
        places.depth[child] = places.depth[id] + 1;
        places.numa[child] = places.numa[id];
        open.push_back(child);
      }
    }
    open.clear();
  };
  const auto& all = graph.vertices();
  for (const DeviceId id : all) {
    if (graph[id].kind == DeviceKind::numa) begin(id);
  }
  spread();
  for (const DeviceId id : all) {  // machines without NUMA nodes
    if (places.depth[id] != unknown || graph[id].kind == DeviceKind::nvswitch) continue;
    begin(id);
    spread();
  }
  const int deepest = *std::ranges::max_element(places.depth);
  for (const DeviceId id : all) {
    if (places.depth[id] != unknown) continue;
    places.depth[id] = deepest + 1;
    places.numa[id] = id;
  }
  return places;
}

class DotWriter {
 public:
  explicit DotWriter(const Cluster& cluster) : cluster_(cluster) {}

  std::string write(int nodes_drawn) {
    for (const auto& [node, like] : nodes_to_draw(nodes_drawn)) {
      drawn_.push_back(node);
      write_node(node, like);
    }
    std::string note =
        "GB/s in each direction; NVLink green (as thick as it has lanes), PCIe grey,\n"
        "between sockets red, network orange";
    if (const Fabric& fabric = cluster_.fabric(); fabric.port_count() > 0) {
      const std::size_t left_out = write_fabric(fabric);
      const int switches = switch_count(fabric);
      note += fmt::format(
          "; fabric {} of {} switch{}{}", fabric.kind, switches, switches == 1 ? "" : "es",
          left_out == 0 ? "" : fmt::format("; {} more kinds of switches not drawn", left_out));
    }
    return fmt::format(
        "graph topology {{\n"
        "  graph [newrank=true, labelloc=t, label={}, fontname=\"Helvetica\", fontsize=10];\n"
        "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10, "
        "height=0.33, color=\"#607d8b\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9];\n{}}}\n",
        dot_string(note), text_);
  }

 private:
  /// All nodes where they are few; else the first of each type, with how many are like it.
  [[nodiscard]] std::vector<std::pair<int, int>> nodes_to_draw(int nodes_max) const {
    std::vector<std::pair<int, int>> drawn;
    std::map<const NodeGraph*, std::size_t> known;
    for (int node = 0; node < cluster_.node_count(); ++node) {
      const bool few = cluster_.node_count() <= nodes_max;
      const auto [found, is_new] = known.try_emplace(&cluster_.node(node), drawn.size());
      if (few || is_new) {
        drawn.emplace_back(node, 1);
      } else {
        ++drawn[found->second].second;
      }
    }
    return drawn;
  }

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

  static std::string name_of(int node, const Device& device) {
    return plain_format("node{}.{}", node, device.name);
  }

  /// @param like  nodes that this one stands for.
  void write_node(int index, int like) {
    const NodeGraph& node = cluster_.node(index);
    const DeviceGraph& graph = node.graph();
    const Places places = places_of(node);
    const std::string times = like > 1 ? fmt::format(" x {}", like) : "";
    print(
        "  subgraph cluster_node{} {{\n    label={}; labelloc=b; fontsize=14; "
        "color=\"#b0bec5\";\n",
        index, dot_string(plain_format("node{}: {}{}", index, node.name, times)));
    const auto& devices = graph.vertices();
    for (const DeviceId root : devices) {
      if (places.numa[root] != root) continue;
      const bool framed = graph[root].kind == DeviceKind::numa;
      if (framed) {
        print("    subgraph cluster_node{}_{} {{\n    label=\"\"; style=dashed;\n", index,
              graph[root].index);
      }
      for (const DeviceId id : devices) {
        if (places.numa[id] == root) write_device(index, graph[id]);
      }
      if (framed) print("    }}\n");
    }
    print("    {{rank=same;");
    for (const DeviceId gpu : node.gpus()) print(" {};", dot_string(name_of(index, graph[gpu])));
    print("}}\n");
    for (const auto& edge : graph.edges()) {
      if (edge.number % 2 != 0) continue;
      DeviceId upper = edge.source;
      DeviceId lower = edge.target;
      const auto is_gpu = [&](DeviceId id) { return graph[id].kind == DeviceKind::gpu; };
      if (is_gpu(upper) && is_gpu(lower)) {
        write_joint(index, graph[upper], graph[lower], graph[edge]);
        continue;
      }
      if (places.depth[upper] > places.depth[lower]) std::swap(upper, lower);
      write_line(name_of(index, graph[upper]), name_of(index, graph[lower]), graph[edge],
                 rate_text(graph[edge].bandwidth),
                 places.depth[upper] == places.depth[lower] ? 0 : 1);
    }
    print("  }}\n");
  }

  /// Two GPUs meet at the figure of their link, below their row.
  void write_joint(int node, const Device& a, const Device& b, const Link& link) {
    const std::string joint = fmt::format("node{}.link{}", node, joints_++);
    print(
        "    \"{}\" [shape=plaintext, style=\"\", label={}, fontcolor=\"{}\", fontsize=9, "
        "width=0.2, "
        "height=0.2, margin=0.02];\n",
        joint, dot_string(rate_text(link.bandwidth)), color_of(link.kind));
    for (const Device& gpu : {a, b}) write_line(name_of(node, gpu), joint, link, "");
  }

  void write_device(int node, const Device& device) {
    std::string label = plain_line(device.name);
    if (device.transit) label += fmt::format("\n{} GB/s", rate_text(*device.transit));
    print("    {} [label={}, fillcolor=\"{}\"];\n", dot_string(name_of(node, device)),
          dot_string(label), fill_of(device.kind));
  }

  /// @param rows  that the second end is below the first at least; 0: beside it.
  void write_line(const std::string& upper, const std::string& lower, const Link& link,
                  const std::string& figure, int rows = 1) {
    print("  {} -- {} [label={}, color=\"{}\", fontcolor=\"{}\", penwidth={}{}];\n",
          dot_string(upper), dot_string(lower), dot_string(figure), color_of(link.kind),
          color_of(link.kind), link.kind == LinkKind::nvlink ? std::min(link.lanes, 5) : 1,
          rows == 0  ? ", constraint=false"
          : rows > 1 ? fmt::format(", minlen={}", rows)
                     : "");
  }

  /// The fabric below the machines: a row of boxes for each number of trunks from the ports,
  /// switches that are alike in one box where there are many.
  /// @return kinds of switches that are not drawn because their row is full.
  std::size_t write_fabric(const Fabric& fabric) {
    const FoldedFabric folded = fold(fabric, switches_drawn_max);
    std::map<int, std::size_t> rows;  // boxes by tier
    std::vector<std::string> names(folded.groups.size());
    std::size_t left_out = 0;
    for (std::size_t g = 0; g < names.size(); ++g) {
      const SwitchGroup& group = folded.groups[g];
      if (++rows[group.tier] > row_max) {
        ++left_out;
        continue;
      }
      names[g] = plain_line(group.first);
      print("  {} [label={}, fillcolor=\"#fff59d\"];\n", dot_string(names[g]),
            dot_string(label_of(group, g)));
    }
    for (std::size_t from = 0; from < names.size(); ++from) {
      for (const auto& trunks : folded.groups[from].trunks) {
        if (trunks.to <= from || names[from].empty() || names[trunks.to].empty()) continue;
        write_trunks(folded, names, from, trunks);
      }
    }
    for (const int node : drawn_) write_ports(node, folded, names);
    return left_out;
  }

  /// Trunks inside a group have no line: the label tells them.
  static std::string label_of(const SwitchGroup& group, std::size_t index) {
    std::string label = plain_line(group.first);
    if (group.switches > 1) {
      label += fmt::format("{}\nx {}", group.first == group.last ? "" : " ...", group.switches);
    }
    for (const auto& trunks : group.trunks) {
      if (trunks.to != index) continue;
      label += fmt::format("\n{} x {} to others", trunks.count, rate_text(trunks.bandwidth));
    }
    return label;
  }

  void write_trunks(const FoldedFabric& folded, const std::vector<std::string>& names,
                    std::size_t from, const SwitchGroup::Trunks& trunks) {
    std::string figure = rate_text(trunks.bandwidth);
    if (trunks.count > 1) figure = fmt::format("{} x {}", trunks.count, figure);
    std::size_t upper = from;
    std::size_t lower = trunks.to;
    if (folded.groups[upper].tier > folded.groups[lower].tier) std::swap(upper, lower);
    const int rows = folded.groups[upper].tier == folded.groups[lower].tier ? 0 : 1;
    write_line(names[upper], names[lower], {LinkKind::network, trunks.bandwidth, trunks.latency},
               figure, rows);
  }

  void write_ports(int node, const FoldedFabric& folded, const std::vector<std::string>& names) {
    const Fabric& fabric = cluster_.fabric();
    const std::vector<DeviceId>& nics = cluster_.node(node).nics();
    for (std::size_t nic = 0; nic < nics.size(); ++nic) {
      const int port = cluster_.port_of(node, static_cast<int>(nic));
      const std::string& name = names[folded.group_of[fabric.switch_of(port)]];
      if (name.empty()) continue;
      const PortSpec& spec = fabric.port_spec(port);
      write_line(name_of(node, cluster_.node(node).device(nics[nic])), name,
                 {LinkKind::network, spec.bandwidth, spec.latency}, rate_text(spec.bandwidth),
                 below_frame);
    }
  }

  const Cluster& cluster_;
  std::string text_;
  std::vector<int> drawn_;  ///< nodes
  int joints_ = 0;
};

}  // namespace

std::string topology_dot(const Cluster& cluster, int nodes_drawn) {
  return DotWriter(cluster).write(nodes_drawn);
}

}  // namespace gradwire
