#include "sim/report/topology_dot_fabric.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/fabric_fold.hpp"

namespace gradwire {
namespace {

/// A fabric of so many switches is drawn as it is; a larger one folded, so many boxes in a row.
constexpr std::size_t switches_drawn_max = 12;
constexpr std::size_t row_max = 16;
constexpr double box_gap = 22;      ///< between neighbours, at least
constexpr double label_margin = 8;  ///< of both sides of a label together

class FabricDrawing {
 public:
  FabricDrawing(const Fabric& fabric, DotCanvas& canvas)
      : fabric_(fabric),
        canvas_(canvas),
        folded_(fold(fabric, switches_drawn_max)),
        boxes_(folded_.groups.size()) {}

  std::string draw(std::span<const DrawnPort> ports) {
    for (std::size_t g = 0; g < boxes_.size(); ++g) boxes_[g].label = label_of(g);
    place();
    for (std::size_t g = 0; g < boxes_.size(); ++g) {
      if (boxes_[g].drawn) draw_box(g);
    }
    for (std::size_t from = 0; from < boxes_.size(); ++from) {
      for (const auto& trunks : folded_.groups[from].trunks) {
        const bool once = trunks.to > from && boxes_[from].drawn && boxes_[trunks.to].drawn;
        if (once) draw_trunks(from, trunks);
      }
    }
    for (const DrawnPort& port : ports) draw_port(port);
    for (const Drawn& box : boxes_) {
      if (box.drawn) canvas_.used.top = std::max(canvas_.used.top, top_of(box) + arc_room_);
    }
    return left_out_ == 0 ? "" : fmt::format("; {} more kinds of switches not drawn", left_out_);
  }

 private:
  struct Drawn {
    bool drawn = false;
    Place at;
    double width = 0;
    std::string label;
  };

  [[nodiscard]] double top_of(const Drawn& box) const { return box.at.y + height_ / 2; }
  [[nodiscard]] double bottom_of(const Drawn& box) const { return box.at.y - height_ / 2; }

  /// Trunks inside a group have no line: the label tells them.
  [[nodiscard]] std::string label_of(std::size_t index) const {
    const SwitchGroup& group = folded_.groups[index];
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

  void place() {
    std::map<int, std::vector<std::size_t>> rows;
    std::size_t widest = 1;
    double label_width = 0;
    for (std::size_t g = 0; g < boxes_.size(); ++g) {
      auto& row = rows[folded_.groups[g].tier];
      row.push_back(g);
      widest = std::max(widest, std::min(row.size(), row_max));
      const auto lines = 1 + std::count(boxes_[g].label.begin(), boxes_[g].label.end(), '\n');
      height_ = std::max(height_, line_height * static_cast<double>(lines));
      label_width = std::max(label_width, text_width(boxes_[g].label) + label_margin);
    }
    // A narrow picture grows to hold its widest row.
    Box& used = canvas_.used;
    const double pitch = std::max(1.9 * box_width, label_width + box_gap);
    const double needed = pitch * static_cast<double>(widest);
    const double more = std::max(0.0, needed - (used.right - used.left)) / 2;
    used.left -= more;
    used.right += more;
    const double width = used.right - used.left;
    double y = used.top + 1.2 * row_pitch;
    for (auto& [tier, row] : rows) {
      if (row.size() > row_max) {
        left_out_ += row.size() - row_max;
        row.resize(row_max);
      }
      const auto count = static_cast<double>(row.size());
      for (std::size_t i = 0; i < row.size(); ++i) {
        Drawn& box = boxes_[row[i]];
        box.drawn = true;
        box.at = {used.left + width * (static_cast<double>(i) + 0.5) / count, y};
        box.width = std::max({0.6 * width / count, 1.5 * box_width, label_width});
      }
      y += 2 * row_pitch;
    }
    has_rows_above_ = rows.size() > 1;
  }

  void draw_box(std::size_t index) {
    const Drawn& box = boxes_[index];
    canvas_.print(
        "  {} [label={}, fillcolor=\"#fff59d\", width={:.3f}, height={:.3f}, "
        "pos=\"{:.1f},{:.1f}\"];\n",
        dot_string(plain_line(folded_.groups[index].first)), dot_string(box.label),
        box.width / points_per_inch, height_ / points_per_inch, box.at.x, box.at.y);
  }

  void draw_trunks(std::size_t from, const SwitchGroup::Trunks& trunks) {
    const DotCanvas::Ends ends{plain_line(folded_.groups[from].first),
                               plain_line(folded_.groups[trunks.to].first)};
    const Link link{LinkKind::network, trunks.bandwidth, trunks.latency};
    std::string figure = rate_text(trunks.bandwidth);
    if (trunks.count > 1) figure = fmt::format("{} x {}", trunks.count, figure);
    const Drawn& a = boxes_[from];
    const Drawn& b = boxes_[trunks.to];
    if (a.at.y == b.at.y) {
      double height = 0.25 * std::abs(b.at.x - a.at.x) + 0.3 * row_pitch;
      if (has_rows_above_) height = std::min(height, row_pitch);
      arc_room_ = std::max(arc_room_, 0.75 * height);
      return canvas_.arc(ends, link, {a.at.x, top_of(a)}, {b.at.x, top_of(b)}, height, figure);
    }
    const bool rises = a.at.y < b.at.y;
    const Place begin{a.at.x, rises ? top_of(a) : bottom_of(a)};
    const Place end{b.at.x, rises ? bottom_of(b) : top_of(b)};
    canvas_.line(ends, link, begin, end, 1.0 / 3, figure);
  }

  /// Cables spread over the switch's lower edge in the order of the NICs.
  void draw_port(const DrawnPort& port) {
    const std::size_t group = folded_.group_of[fabric_.switch_of(port.number)];
    const Drawn& box = boxes_[group];
    if (!box.drawn) return;
    const Box& used = canvas_.used;
    const double share = (port.place.x - used.left) / (used.right - used.left) - 0.5;
    const PortSpec& spec = fabric_.port_spec(port.number);
    canvas_.line({port.name, plain_line(folded_.groups[group].first)},
                 {LinkKind::network, spec.bandwidth, spec.latency},
                 {port.place.x, port.place.y + box_height / 2},
                 {box.at.x + 0.9 * box.width * share, bottom_of(box)}, 0.3,
                 rate_text(spec.bandwidth));
  }

  const Fabric& fabric_;
  DotCanvas& canvas_;
  FoldedFabric folded_;
  std::vector<Drawn> boxes_;  ///< by group
  double height_ = box_height;
  double arc_room_ = 0;  ///< above a row, for the bows between its switches
  bool has_rows_above_ = false;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string draw_fabric(const Fabric& fabric, std::span<const DrawnPort> ports, DotCanvas& canvas) {
  return FabricDrawing(fabric, canvas).draw(ports);
}

}  // namespace gradwire
