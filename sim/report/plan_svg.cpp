#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/report/plan_report.hpp"
#include "sim/report/svg.hpp"

namespace gradwire {
namespace {

// Pixels.
constexpr double plan_plot_width = 720;
constexpr double plan_plot_height = 420;
constexpr double plan_left = 84;
constexpr double plan_right = 40;
constexpr double plan_top = 60;
constexpr double plan_bottom = 60;
constexpr double least_width = 3;         ///< of a group whose gradients come at once
constexpr double plan_label_height = 14;  ///< that a label needs
constexpr double plan_label_width = 100;  ///< at most
constexpr double legend_height = 32;

/// Okabe and Ito's palette without yellow and black; neighbours differ.
constexpr std::array<std::string_view, 6> plan_colours = {"#0072b2", "#d55e00", "#009e73",
                                                          "#cc79a7", "#56b4e9", "#e69f00"};

struct Scale {
  double milliseconds = 1;  ///< end of the axis
  double megabytes = 1;

  [[nodiscard]] double x(double ms) const {
    return plan_left + plan_plot_width * ms / milliseconds;
  }
  [[nodiscard]] double y(double mb) const {
    return plan_top + plan_plot_height * (1 - mb / megabytes);
  }
};

std::string axes(const Scale& scale) {
  return x_marks(scale.milliseconds, plan_top, plan_top + plan_plot_height,
                 [&](double ms) { return scale.x(ms); }) +
         y_marks(scale.megabytes, plan_left, plan_left + plan_plot_width,
                 [&](double mb) { return scale.y(mb); }) +
         fmt::format(R"(<text x="{}" y="{}" text-anchor="middle" fill="#555555">)"
                     "backward (ms): a group lasts from its first gradient to its last</text>\n"
                     R"(<text x="12" y="{}" fill="#555555">moved (MB)</text>)"
                     "\n",
                     plan_left + plan_plot_width / 2, plan_top + plan_plot_height + 42,
                     plan_top - 12);
}

std::string_view colour_of(std::size_t group) {
  return plan_colours.at(group % plan_colours.size());
}

std::string described(const PlanRow& row, std::size_t index) {
  return fmt::format("group {}: {} tensors, {}{}{}", index, row.tensors,
                     readable_bytes(static_cast<double>(row.bytes)), row.note.empty() ? "" : ", ",
                     xml_text(row.note));
}

/// What the picture shows; a group's own line stands in the table, and with its box.
std::string plan_legend() {
  return fmt::format(
      R"(<text x="{}" y="{:.0f}" fill="#555555">A box is a group, as high as the bytes it moves; )"
      "colours only tell neighbours apart.</text>\n",
      plan_left, plan_top + plan_plot_height + plan_bottom + 8);
}

std::string group(const PlanRow& row, std::size_t index, double below, const Scale& scale) {
  const double above = below + 1e-6 * static_cast<double>(row.bytes);
  const double end = scale.x(1e3 * row.ready_last);
  const double begin = std::min(scale.x(1e3 * row.ready_first), end - least_width);
  const double height = scale.y(below) - scale.y(above);
  std::string text = fmt::format(
      R"(<rect x="{:.1f}" y="{:.2f}" width="{:.1f}" height="{:.2f}" fill="{}" fill-opacity="0.85">)"
      "<title>{}</title></rect>\n",
      begin, scale.y(above), end - begin, height, colour_of(index), described(row, index));
  if (height >= plan_label_height) {
    const bool at_edge =
        end > plan_left + 0.85 * plan_plot_width;  // no room for a label behind the box
    const double before = end - begin > plan_label_width ? end : begin;
    text += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}: {}</text>)"
                        "\n",
                        at_edge ? before - 6 : end + 6, (scale.y(below) + scale.y(above)) / 2 + 4.5,
                        at_edge ? "end" : "start", index,
                        readable_bytes(static_cast<double>(row.bytes)));
  }
  return text;
}

}  // namespace

std::string plan_svg(const PlanReport& report) {
  Scale scale{0, 0};
  for (const PlanRow& row : report.rows) {
    scale.milliseconds = std::max(scale.milliseconds, 1e3 * row.ready_last);
    scale.megabytes += 1e-6 * static_cast<double>(row.bytes);
  }
  if (scale.milliseconds <= 0) scale.milliseconds = 1;
  if (scale.megabytes <= 0) scale.megabytes = 1;
  std::string text = svg_open(plan_left + plan_plot_width + plan_right,
                              plan_top + plan_plot_height + plan_bottom + legend_height);
  text += fmt::format(R"(<text x="{}" y="28" font-size="18" font-weight="bold">{}</text>)"
                      "\n",
                      plan_left, xml_text(report.title));
  text += axes(scale);
  double below = 0;
  std::size_t index = 0;
  for (const PlanRow& row : report.rows) {
    text += group(row, index++, below, scale);
    below += 1e-6 * static_cast<double>(row.bytes);
  }
  return text + plan_legend() + "</svg>\n";
}

}  // namespace gradwire
