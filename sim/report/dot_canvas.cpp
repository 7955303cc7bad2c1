#include "sim/report/dot_canvas.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "sim/core/outgoing_text.hpp"

namespace gradwire {
namespace {

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

}  // namespace

void Box::cover(const Place& at, double margin) {
  left = std::min(left, at.x - box_width / 2 - margin);
  right = std::max(right, at.x + box_width / 2 + margin);
  bottom = std::min(bottom, at.y - box_height / 2 - margin);
  top = std::max(top, at.y + box_height / 2 + margin);
}

void Box::cover(const Box& other) {
  left = std::min(left, other.left);
  right = std::max(right, other.right);
  bottom = std::min(bottom, other.bottom);
  top = std::max(top, other.top);
}

std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{:.4g}", rate.count() / 1e9);
}

double text_width(std::string_view label, double size) {
  constexpr double letter = 0.62;  // of the font's size
  std::size_t longest = 0;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find('\n'), label.size());
    longest = std::max(longest, end);
    label.remove_prefix(std::min(end + 1, label.size()));
  }
  return letter * size * static_cast<double>(longest);
}

std::string wrapped(const std::string& text, double width) {
  std::string result;
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && text_width(fmt::format("{} {}", line, word)) > width) {
      result += line + '\n';
      line.clear();
    }
    line += line.empty() ? word : " " + word;
  }
  return result + line;
}

void DotCanvas::line(const Ends& ends, const Link& link, const Place& a, const Place& b,
                     double where, const std::string& figure) {
  const Place third{a.x + (b.x - a.x) / 3, a.y + (b.y - a.y) / 3};
  const Place two_thirds{b.x - (b.x - a.x) / 3, b.y - (b.y - a.y) / 3};
  curve(ends, link, {a, third, two_thirds, b},
        {a.x + (b.x - a.x) * where, a.y + (b.y - a.y) * where}, figure);
}

void DotCanvas::arc(const Ends& ends, const Link& link, const Place& a, const Place& b,
                    double height, const std::string& figure) {
  // A Bezier curve reaches 3/4 of its handles' height.
  curve(ends, link, {a, {a.x, a.y + height}, {b.x, b.y + height}, b},
        {(a.x + b.x) / 2, a.y + 0.75 * height}, figure);
}

void DotCanvas::curve(const Ends& ends, const Link& link, const std::vector<Place>& points,
                      const Place& label, const std::string& figure) {
  std::string pos;
  for (const Place& point : points) pos += fmt::format(" {:.1f},{:.1f}", point.x, point.y);
  // The figure stands on its line, on white.
  print(
      "  {} -- {} [pos=\"{}\", lp=\"{:.1f},{:.1f}\", color=\"{}\", fontcolor=\"{}\", penwidth={}, "
      "label=<<table border=\"0\" cellborder=\"0\" cellpadding=\"0\" cellspacing=\"0\" "
      "bgcolor=\"white\"><tr><td>{}</td></tr></table>>];\n",
      dot_string(ends.a), dot_string(ends.b), pos.substr(1), label.x, label.y, color_of(link.kind),
      color_of(link.kind), link.kind == LinkKind::nvlink ? std::min(link.lanes, 5) : 1,
      xml_text(figure));
}

}  // namespace gradwire
