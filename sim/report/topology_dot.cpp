#include "sim/report/topology_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/report/dot_canvas.hpp"
#include "sim/report/fabric_fold.hpp"
#include "sim/report/topology_dot_fabric.hpp"
#include "sim/report/topology_layout.hpp"

namespace gradwire {
namespace {

constexpr double column_pitch = 66;  ///< points
constexpr double node_gap = 40;
/// Of the frame around a NUMA node: neighbours stand column_pitch - box_width apart.
constexpr double part_margin = 5;
constexpr double title_height = 22;
constexpr double title_size = 14;    ///< of a machine's name below its frame
constexpr double width_least = 520;  ///< of the picture: the note has two lines then, mostly

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

/// Writes DOT with every position fixed (`layout=nop2`): Graphviz only draws.
class DotWriter {
 public:
  explicit DotWriter(const Cluster& cluster) : cluster_(cluster) {}

  std::string write(int nodes_drawn) {
    const std::vector<std::pair<int, int>> drawn = nodes_to_draw(nodes_drawn);
    for (const auto& [node, like] : drawn) write_node(node, like);
    const Fabric& fabric = cluster_.fabric();
    std::string left_out;
    if (fabric.port_count() > 0) left_out = draw_fabric(fabric, ports_, canvas_);
    Box& used = canvas_.used;
    const double more = std::max(0.0, width_least - (used.right - used.left)) / 2;
    used.left -= more;
    used.right += more;
    const double top = write_note(used.top + frame_margin, left_out);
    return fmt::format(
        "graph topology {{\n"
        "  graph [layout=nop2, bb=\"{:.1f},{:.1f},{:.1f},{:.1f}\", fontname=\"Helvetica\"];\n"
        "  node [shape=box, style=\"filled,rounded\", fixedsize=true, width={:.3f}, height={:.3f}, "
        "fontname=\"Helvetica\", fontsize={}, color=\"#607d8b\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9];\n{}}}\n",
        used.left - frame_margin, used.bottom - frame_margin, used.right + frame_margin, top,
        box_width / points_per_inch, box_height / points_per_inch, font_size, canvas_.text());
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

  static std::string name_of(int node, const Device& device) {
    return plain_format("node{}.{}", node, device.name);
  }

  /// @param like  nodes that this one stands for.
  void write_node(int index, int like) {
    const NodeGraph& node = cluster_.node(index);
    const DeviceGraph& graph = node.graph();
    NodeLayout layout = lay_out(node);
    const double left = canvas_.text().empty() ? 0 : canvas_.used.right + node_gap + frame_margin;
    for (Place& place : layout.places) {
      place = {left + box_width / 2 + frame_margin + place.x * column_pitch, place.y * row_pitch};
    }
    Box around{left, layout.gpu_row * row_pitch - arc_depth(node) - frame_margin, left, 0};
    for (const Place& place : layout.places) around.cover(place);
    around.bottom -= title_height;
    const std::string times = like > 1 ? fmt::format(" x {}", like) : "";
    const std::string title = plain_format("node{}: {}{}", index, node.name, times);
    const double needed = text_width(title, title_size) + 2 * frame_margin;
    const double more = std::max(0.0, needed - (around.right - around.left));
    around.right += more;
    for (Place& place : layout.places) place.x += more / 2;
    canvas_.print("  subgraph cluster_node{} {{\n", index);
    write_frame(around, title, "solid");
    for (const DeviceId root : boost::make_iterator_range(boost::vertices(graph))) {
      if (graph[root].kind == DeviceKind::numa) {
        canvas_.print("  subgraph cluster_node{}_{} {{\n", index, graph[root].index);
        Box part{layout.places[root].x, layout.places[root].y, layout.places[root].x,
                 layout.places[root].y};
        for (DeviceId id = 0; id < layout.numa.size(); ++id) {
          if (layout.numa[id] == root) part.cover(layout.places[id], part_margin);
        }
        write_frame(part, "", "dashed");
        canvas_.print("  }}\n");
      }
    }
    for (DeviceId id = 0; id < layout.places.size(); ++id) {
      write_device(index, graph[id], layout.places[id]);
    }
    canvas_.print("  }}\n");
    for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
      if (boost::get(boost::edge_index, graph, edge) % 2 == 0) {
        write_link(index, graph, edge, layout.places);
      }
    }
    for (std::size_t nic = 0; nic < node.nics().size() && cluster_.fabric().port_count() > 0;
         ++nic) {
      const DeviceId device = node.nics()[nic];
      ports_.push_back({name_of(index, graph[device]), layout.places[device],
                        cluster_.port_of(index, static_cast<int>(nic))});
    }
    canvas_.used.cover(around);
  }

  void write_frame(const Box& box, const std::string& title, std::string_view style) {
    canvas_.print(
        "    bb=\"{:.1f},{:.1f},{:.1f},{:.1f}\"; style={}; color=\"#b0bec5\"; label={}; "
        "labelloc=b; fontsize={}; lp=\"{:.1f},{:.1f}\";\n",
        box.left, box.bottom, box.right, box.top, style, dot_string(title), title_size,
        (box.left + box.right) / 2, box.bottom + title_height / 2);
  }

  void write_device(int node, const Device& device, const Place& at) {
    std::string label = plain_line(device.name);
    if (device.transit) label += fmt::format("\n{} GB/s", rate_text(*device.transit));
    canvas_.print("    {} [label={}, fillcolor=\"{}\", pos=\"{:.1f},{:.1f}\"];\n",
                  dot_string(name_of(node, device)), dot_string(label), fill_of(device.kind), at.x,
                  at.y);
  }

  void write_link(int node, const DeviceGraph& graph, const DeviceGraph::edge_descriptor& edge,
                  const std::vector<Place>& places) {
    const Link& link = graph[edge];
    const DeviceId a = boost::source(edge, graph);
    const DeviceId b = boost::target(edge, graph);
    const DotCanvas::Ends ends{name_of(node, graph[a]), name_of(node, graph[b])};
    const std::string figure = rate_text(link.bandwidth);
    const Place& left = places[a].x < places[b].x ? places[a] : places[b];
    const Place& right = places[a].x < places[b].x ? places[b] : places[a];
    if (left.y != right.y) {
      const bool a_above = places[a].y > places[b].y;
      const Place& upper = a_above ? places[a] : places[b];
      const Place& lower = a_above ? places[b] : places[a];
      // A line past other rows leaves sideways, so that it does not cross what stands above.
      const double across = upper.x - lower.x;
      const bool sideways = upper.y - lower.y > 1.5 * row_pitch && std::abs(across) > box_width / 2;
      const Place from = sideways ? Place{lower.x + std::copysign(box_width / 2, across), lower.y}
                                  : Place{lower.x, lower.y + box_height / 2};
      return canvas_.line(ends, link, from, {upper.x, upper.y - box_height / 2}, 0.5, figure);
    }
    const double columns = (right.x - left.x) / column_pitch;
    if (link.kind == LinkKind::nvlink) {
      // Short arcs leave a GPU further outside than long ones, so they cross less.
      const double shift = 0.4 * box_width / std::max(1.0, columns);
      return canvas_.arc(ends, link, {left.x + shift, left.y - box_height / 2},
                         {right.x - shift, right.y - box_height / 2}, -arc_height(columns), figure);
    }
    canvas_.arc(ends, link, {left.x, left.y + box_height / 2}, {right.x, right.y + box_height / 2},
                0.5 * row_pitch, figure);
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

  /// @return where it ends.
  double write_note(double bottom, const std::string& left_out) {
    std::string note =
        "GB/s in each direction; NVLink green (as thick as it has lanes), PCIe grey, "
        "between sockets red, network orange";
    if (cluster_.fabric().port_count() > 0) {
      const int switches = switch_count(cluster_.fabric());
      note += fmt::format("; fabric {} of {} switch{}{}", cluster_.fabric().kind, switches,
                          switches == 1 ? "" : "es", left_out);
    }
    const Box& used = canvas_.used;
    note = wrapped(note, used.right - used.left);
    const auto breaks = static_cast<double>(std::count(note.begin(), note.end(), '\n'));
    const double height = title_height + breaks * line_height;
    canvas_.print(
        "  note [shape=plaintext, style=\"\", fixedsize=false, label={}, pos=\"{:.1f},{:.1f}\"];\n",
        dot_string(note), (used.left + used.right) / 2, bottom + height / 2);
    return bottom + height;
  }

  const Cluster& cluster_;
  DotCanvas canvas_;
  std::vector<DrawnPort> ports_;
};

}  // namespace

std::string topology_dot(const Cluster& cluster, int nodes_drawn) {
  return DotWriter(cluster).write(nodes_drawn);
}

}  // namespace gradwire
