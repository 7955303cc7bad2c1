#include "sim/report/topology_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/topology_layout.hpp"

namespace gradwire {
namespace {

/// Sizes in points, as DOT's `pos` wants them.
constexpr double column_pitch = 66;
constexpr double row_pitch = 64;
constexpr double box_width = 54;
constexpr double box_height = 24;
constexpr double points_per_inch = 72;  ///< DOT's `width` and `height` are in inches
constexpr double node_gap = 40;
constexpr double frame = 12;
constexpr double title_height = 22;

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

struct Box {
  double left = 0;
  double bottom = 0;
  double right = 0;
  double top = 0;

  void cover(const Place& at) {
    left = std::min(left, at.x - box_width / 2 - frame);
    right = std::max(right, at.x + box_width / 2 + frame);
    bottom = std::min(bottom, at.y - box_height / 2 - frame);
    top = std::max(top, at.y + box_height / 2 + frame);
  }
};

/// Writes DOT with every position fixed (`layout=nop2`): Graphviz only draws.
class DotWriter {
 public:
  explicit DotWriter(const Cluster& cluster) : cluster_(cluster) {}

  std::string write(int nodes_drawn) {
    const int drawn = std::min(nodes_drawn, cluster_.node_count());
    for (int i = 0; i < drawn; ++i) write_node(i);
    write_fabric(drawn);
    const double top = canvas_.top + frame;
    write_note(top, drawn);
    return fmt::format(
        "graph topology {{\n"
        "  graph [layout=nop2, bb=\"{:.1f},{:.1f},{:.1f},{:.1f}\", fontname=\"Helvetica\"];\n"
        "  node [shape=box, style=\"filled,rounded\", fixedsize=true, width={:.3f}, height={:.3f}, "
        "fontname=\"Helvetica\", fontsize=10, color=\"#607d8b\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9];\n{}}}\n",
        canvas_.left - frame, canvas_.bottom - frame, canvas_.right + frame, top + title_height,
        box_width / points_per_inch, box_height / points_per_inch, text_);
  }

 private:
  /// The names of a drawn line's two ends.
  struct Ends {
    std::string a;
    std::string b;
  };
  /// A NIC of a machine that is drawn; in order of the fabric's ports.
  struct Port {
    std::string name;
    Place place;
  };

  static std::string name_of(int node, const Device& device) {
    return fmt::format("node{}.{}", node, device.name);
  }

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void write_node(int index) {
    const NodeGraph& node = cluster_.node(index);
    const DeviceGraph& graph = node.graph();
    NodeLayout layout = lay_out(node);
    const double left = index == 0 ? 0 : canvas_.right + node_gap + frame;
    for (Place& place : layout.places) {
      place = {left + box_width / 2 + frame + place.x * column_pitch, place.y * row_pitch};
    }
    Box around{left, layout.gpu_row * row_pitch - arc_depth(node) - frame, left, 0};
    for (const Place& place : layout.places) around.cover(place);
    around.bottom -= title_height;
    print("  subgraph cluster_node{} {{\n", index);
    write_frame(around, fmt::format("node{}: {}", index, node.name), "solid");
    for (const DeviceId root : boost::make_iterator_range(boost::vertices(graph))) {
      if (graph[root].kind == DeviceKind::numa) {
        print("  subgraph cluster_node{}_{} {{\n", index, graph[root].index);
        Box part{layout.places[root].x, layout.places[root].y, layout.places[root].x,
                 layout.places[root].y};
        for (DeviceId id = 0; id < layout.numa.size(); ++id) {
          if (layout.numa[id] == root) part.cover(layout.places[id]);
        }
        write_frame(part, "", "dashed");
        print("  }}\n");
      }
    }
    for (DeviceId id = 0; id < layout.places.size(); ++id) {
      write_device(index, graph[id], layout.places[id]);
    }
    print("  }}\n");
    for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
      if (boost::get(boost::edge_index, graph, edge) % 2 == 0) {
        write_link(index, graph, edge, layout.places);
      }
    }
    for (const DeviceId nic : node.nics()) {
      ports_.push_back({name_of(index, graph[nic]), layout.places[nic]});
    }
    canvas_.left = std::min(canvas_.left, around.left);
    canvas_.right = std::max(canvas_.right, around.right);
    canvas_.bottom = std::min(canvas_.bottom, around.bottom);
    canvas_.top = std::max(canvas_.top, around.top);
  }

  void write_frame(const Box& box, const std::string& title, std::string_view style) {
    print(
        "    bb=\"{:.1f},{:.1f},{:.1f},{:.1f}\"; style={}; color=\"#b0bec5\"; label=\"{}\"; "
        "labelloc=b; fontsize=14; lp=\"{:.1f},{:.1f}\";\n",
        box.left, box.bottom, box.right, box.top, style, title, (box.left + box.right) / 2,
        box.bottom + title_height / 2);
  }

  void write_device(int node, const Device& device, const Place& at) {
    std::string label = device.name;
    if (device.transit) label += fmt::format("\\n{} GB/s", rate_text(*device.transit));
    print("    \"{}\" [label=\"{}\", fillcolor=\"{}\", pos=\"{:.1f},{:.1f}\"];\n",
          name_of(node, device), label, fill_of(device.kind), at.x, at.y);
  }

  void write_link(int node, const DeviceGraph& graph, const DeviceGraph::edge_descriptor& edge,
                  const std::vector<Place>& places) {
    const Link& link = graph[edge];
    const DeviceId a = boost::source(edge, graph);
    const DeviceId b = boost::target(edge, graph);
    const Ends ends{name_of(node, graph[a]), name_of(node, graph[b])};
    const Place& left = places[a].x < places[b].x ? places[a] : places[b];
    const Place& right = places[a].x < places[b].x ? places[b] : places[a];
    if (left.y != right.y) {
      const bool a_above = places[a].y > places[b].y;
      const Place& upper = a_above ? places[a] : places[b];
      const Place& lower = a_above ? places[b] : places[a];
      return write_line(ends, link, {lower.x, lower.y + box_height / 2},
                        {upper.x, upper.y - box_height / 2}, 0.5);
    }
    const double columns = (right.x - left.x) / column_pitch;
    if (link.kind == LinkKind::nvlink) {
      // Short arcs leave a GPU further outside than long ones, so they cross less.
      const double shift = 0.4 * box_width / std::max(1.0, columns);
      return write_arc(ends, link, {left.x + shift, left.y - box_height / 2},
                       {right.x - shift, right.y - box_height / 2}, -arc_height(columns));
    }
    write_arc(ends, link, {left.x, left.y + box_height / 2}, {right.x, right.y + box_height / 2},
              0.5 * row_pitch);
  }

  static double arc_height(double columns) { return 24 + 17 * columns; }

  /// Room that the NVLink arcs take below the GPUs.
  static double arc_depth(const NodeGraph& node) {
    const NodeLayout layout = lay_out(node);
    double depth = 0;
    const DeviceGraph& graph = node.graph();
    for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
      const Place& a = layout.places[boost::source(edge, graph)];
      const Place& b = layout.places[boost::target(edge, graph)];
      const bool is_arc = graph[edge].kind == LinkKind::nvlink && a.y == b.y;
      if (is_arc) depth = std::max(depth, 0.75 * arc_height(std::abs(a.x - b.x)) + box_height);
    }
    return depth;
  }

  /// @param where  the label stands, as a share of the way from `a` to `b`.
  void write_line(const Ends& ends, const Link& link, const Place& a, const Place& b,
                  double where) {
    const Place third{a.x + (b.x - a.x) / 3, a.y + (b.y - a.y) / 3};
    const Place two_thirds{b.x - (b.x - a.x) / 3, b.y - (b.y - a.y) / 3};
    write_curve(ends, link, {a, third, two_thirds, b},
                {a.x + (b.x - a.x) * where, a.y + (b.y - a.y) * where});
  }

  /// A bow between two points of one height; a Bezier curve reaches 3/4 of its handles' height.
  void write_arc(const Ends& ends, const Link& link, const Place& a, const Place& b,
                 double height) {
    write_curve(ends, link, {a, {a.x, a.y + height}, {b.x, b.y + height}, b},
                {(a.x + b.x) / 2, a.y + 0.75 * height});
  }

  void write_curve(const Ends& ends, const Link& link, const std::vector<Place>& points,
                   const Place& label) {
    std::string pos;
    for (const Place& point : points) pos += fmt::format(" {:.1f},{:.1f}", point.x, point.y);
    // The figure stands on its line, on white.
    print(
        "  \"{}\" -- \"{}\" [pos=\"{}\", lp=\"{:.1f},{:.1f}\", color=\"{}\", fontcolor=\"{}\", "
        "penwidth={}, "
        "label=<<table border=\"0\" cellborder=\"0\" cellpadding=\"0\" cellspacing=\"0\" "
        "bgcolor=\"white\"><tr><td>{}</td></tr></table>>];\n",
        ends.a, ends.b, pos.substr(1), label.x, label.y, color_of(link.kind), color_of(link.kind),
        std::min(link.lanes, 5), rate_text(link.bandwidth));
  }

  void write_fabric(int drawn) {
    const Fabric& fabric = cluster_.fabric();
    if (fabric.port_count() == 0 || drawn == 0) return;
    const auto& switches = fabric.graph();
    const double y = canvas_.top + 1.3 * row_pitch;
    const double width = canvas_.right - canvas_.left;
    const auto count = static_cast<double>(boost::num_vertices(switches));
    const double switch_width = 0.6 * width / count;
    const auto place_of = [&](Fabric::SwitchId at) {
      return Place{canvas_.left + width * (static_cast<double>(at) + 0.5) / count, y};
    };
    for (const auto at : boost::make_iterator_range(boost::vertices(switches))) {
      print(
          "  \"{}\" [label=\"{} ({})\", fillcolor=\"#fff59d\", width={:.3f}, fontsize=12, "
          "pos=\"{:.1f},{:.1f}\"];\n",
          switches[at].name, switches[at].name, fabric.kind, switch_width / points_per_inch,
          place_of(at).x, y);
    }
    for (const auto& edge : boost::make_iterator_range(boost::edges(switches))) {
      const auto a = boost::source(edge, switches);
      const auto b = boost::target(edge, switches);
      if (boost::get(boost::edge_index, switches, edge) % 2 != 0) continue;
      write_arc({switches[a].name, switches[b].name}, switches[edge],
                {place_of(a).x, y + box_height / 2}, {place_of(b).x, y + box_height / 2},
                0.5 * row_pitch);
    }
    const Link link{LinkKind::network, fabric.port.bandwidth, fabric.port.latency};
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const auto at = fabric.switch_of(static_cast<int>(i));
      const Place& nic = ports_[i].place;
      // Cables spread over the switch's lower edge in the order of the NICs.
      const double share = (nic.x - canvas_.left) / width - 0.5;
      const Place socket{place_of(at).x + 0.9 * switch_width * share, y - box_height / 2};
      write_line({ports_[i].name, switches[at].name}, link, {nic.x, nic.y + box_height / 2}, socket,
                 0.45);
    }
    canvas_.top = y + box_height / 2;
  }

  void write_note(double top, int drawn) {
    std::string note =
        "GB/s in each direction; NVLink green (as thick as it has lanes), PCIe grey, "
        "between sockets red, network orange";
    if (const int left_out = cluster_.node_count() - drawn; left_out > 0) {
      note += fmt::format("; {} more node{} not drawn", left_out, left_out == 1 ? "" : "s");
    }
    print(
        "  note [shape=plaintext, style=\"\", fixedsize=false, label=\"{}\", "
        "pos=\"{:.1f},{:.1f}\"];\n",
        note, (canvas_.left + canvas_.right) / 2, top + title_height / 2);
  }

  const Cluster& cluster_;
  std::string text_;
  Box canvas_;
  std::vector<Port> ports_;
};

}  // namespace

std::string topology_dot(const Cluster& cluster, int nodes_drawn) {
  return DotWriter(cluster).write(nodes_drawn);
}

}  // namespace gradwire
