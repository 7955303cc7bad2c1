#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "sim/core/exactness.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/svg.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

// Pixels.
constexpr double bars_plot_width = 620;
constexpr double bars_right = 190;
constexpr double bars_top = 92;
constexpr double bar_height = 18;
constexpr double bar_step = 26;
constexpr double group_gap = 14;  ///< between groups, beside the step
constexpr double bars_bottom = 52;
constexpr double bars_letter_width =
    8.2;  ///< of the widest sans-serif at 13 px (DejaVu Sans), the mean
/// Bars of more than so many times the baseline (the fastest, where it has no result) are cut
/// there: the others could not be told apart beside them.
constexpr double baselines_shown = 4;
constexpr double cut_gap = 5;  ///< between the two parts of a bar that is cut

/// What a row is called: of the bound, that it is one.
std::string label_of(const ComparisonRow& row) {
  return (row.standing == Standing::bound ? "bound: " : "") + row.name;
}

/// Parts of the breakdown that share a colour.
struct Share {
  std::string_view name;
  std::string_view colour;
  std::array<std::string_view, 4> parts;  ///< names of `breakdown_s`; "" ends
};
constexpr std::array<Share, 4> shares = {{
    {"compute", "#0072b2", {"forward", "backward", "optimizer", "overlap_slowdown"}},
    {"exposed communication", "#d55e00", {"exposed_communication", "", "", ""}},
    {"copies, encoding, host", "#e69f00", {"copies", "encode_decode", "host", ""}},
    {"waiting for stragglers, other", "#b9bec6", {"straggler_wait", "other", "", ""}},
}};

double seconds_of(const Json& result, const Share& share) {
  double sum = 0;
  for (const std::string_view part : share.parts) {
    if (!part.empty()) sum += result.at("breakdown_s").value(std::string(part), 0.0);
  }
  return sum;
}

double iteration_ms(const ComparisonRow& row) {
  return 1e3 * row.result.at("iteration_time_s").at("mean").get<double>();
}

std::string legend(double left) {
  std::string text;
  double x = left;
  for (const Share& share : shares) {
    text += fmt::format(
        R"(<rect x="{:.1f}" y="50" width="12" height="12" fill="{}"/><text x="{:.1f}" y="61">{}</text>)"
        "\n",
        x, share.colour, x + 18, share.name);
    x += 34 + bars_letter_width * static_cast<double>(share.name.size());
  }
  return text;
}

/// The longest iteration that the picture has room for, ms.
double longest_shown(std::span<const ComparisonRow> rows, const std::string& baseline) {
  double most = 0;
  double least = 0;
  double base = 0;
  for (const ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    const double time = iteration_ms(row);
    most = std::max(most, time);
    least = least == 0 ? time : std::min(least, time);
    if (row.name == baseline) base = time;
  }
  return std::min(most, baselines_shown * (base > 0 ? base : least));
}

/// A white stripe across a bar, near its end.
std::string cut_mark(double end, double y) {
  const double x = end - 4 * cut_gap;
  return fmt::format(R"(<path d="M{:.1f} {:.1f}l{} {}h{}l-{} {}z" fill="#ffffff"/>)"
                     "\n",
                     x, y + bar_height, cut_gap, -bar_height, cut_gap, cut_gap, bar_height);
}

constexpr std::string_view apart_label = "not comparable";

/// Why some are, all of them together.
std::string why_apart(std::span<const ComparisonRow> rows) {
  bool memory = false;
  bool coding = false;
  for (const ComparisonRow& row : rows) {
    if (row.standing != Standing::not_comparable) continue;
    (row.why.starts_with(no_fit) ? memory : coding) = true;
  }
  const std::string_view by_memory = "they do not fit the GPUs' memory";
  const std::string_view by_coding =
      "their coding is counted, not measured, and decides the result";
  return fmt::format("{}{}{}", memory ? by_memory : "", memory && coding ? ", or " : "",
                     coding ? by_coding : "");
}

/// The line above those that are not comparable.
std::string apart_line(double left, double y, const std::string& why) {
  return fmt::format(R"(<text x="{0}" y="{1:.1f}" text-anchor="end" font-style="italic">{4}</text>)"
                     R"(<text x="{2}" y="{1:.1f}" font-style="italic" fill="#555555">{3}</text>)"
                     "\n",
                     left - 10, y + bar_height / 2 + 4.5, left + 8, why, apart_label);
}

/// The line between two groups of no significant difference.
std::string group_rule(double left, double y) {
  return fmt::format(R"(<line x1="16" y1="{0:.1f}" x2="{1:.1f}" y2="{0:.1f}" stroke="#9aa0a8"/>)"
                     "\n",
                     y - (bar_step - bar_height) / 2 + group_gap / 2,
                     left + bars_plot_width + bars_right - 16);
}

/// Told of steps that are not those of synchronous SGD.
std::string mark(const ComparisonRow& row) {
  const std::string exactness = row.result.value("exactness", "");
  const bool shown = row.standing != Standing::bound && exactness != name_of(Exactness::exact);
  return shown ? "  " + exactness : "";
}

std::string bar(const ComparisonRow& row, double left, double y, double scale, bool is_baseline) {
  const double middle = y + bar_height / 2 + 4.5;
  const double end = left + bars_plot_width;
  std::string text = fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end"{}>{}</text>)"
                                 "\n",
                                 left - 10, middle, is_baseline ? R"( font-weight="bold")" : "",
                                 xml_text(label_of(row)));
  double x = left;
  for (const Share& share : shares) {
    // The sum of the parts before may end a rounding error behind the picture's edge.
    const double width =
        std::max(0.0, std::min(1e3 * seconds_of(row.result, share) * scale, end - x));
    text += fmt::format(
        R"(<rect x="{:.2f}" y="{}" width="{:.2f}" height="{}" fill="{}"><title>{}: {:.2f} ms</title></rect>)"
        "\n",
        x, y, width, bar_height, share.colour, share.name, 1e3 * seconds_of(row.result, share));
    x += width;
  }
  if (iteration_ms(row) * scale > bars_plot_width * 1.0001) text += cut_mark(end, y);
  const std::string gain = row.speed_up ? fmt::format("  ×{:.2f}", row.speed_up->mean) : "";
  return text + fmt::format(R"(<text x="{:.1f}" y="{:.1f}" fill="#555555">{:.1f} ms{}{}</text>)"
                            "\n",
                            x + 8, middle, iteration_ms(row), gain, mark(row));
}

}  // namespace

std::string comparison_svg(std::span<const ComparisonRow> rows, const std::string& baseline,
                           const std::string& title) {
  std::size_t letters = 0;
  std::size_t count = 0;
  int groups = 0;
  bool apart = false;  // some are not comparable: they stand below a line that says so
  for (const ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    ++count;
    apart = apart || row.standing == Standing::not_comparable;
    letters = std::max(letters, label_of(row).size());
    groups = std::max(groups, row.group);
  }
  if (apart) letters = std::max(letters, apart_label.size());
  const double most = longest_shown(rows, baseline);
  const double left = 24 + bars_letter_width * static_cast<double>(letters);
  const double height = bars_top + bar_step * static_cast<double>(count + (apart ? 1 : 0)) +
                        group_gap * std::max(0, groups - 1);
  const double scale = bars_plot_width / most;
  std::string text = svg_open(left + bars_plot_width + bars_right, height + bars_bottom);
  text += fmt::format(R"(<text x="{}" y="28" font-size="18" font-weight="bold">{}</text>)"
                      "\n",
                      left, xml_text(title));
  text += legend(left);
  text += x_marks(most, bars_top - 10, height, [&](double time) { return left + time * scale; });
  text += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#555555">)"
                      "iteration (ms), and times as fast as {}; no significant difference between "
                      "two lines</text>\n",
                      left + bars_plot_width / 2, height + 40, xml_text(baseline));
  double y = bars_top;
  int group = 1;  // of the row before
  for (const ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    if (apart && row.standing == Standing::not_comparable) {
      text += apart_line(left, y, why_apart(rows));
      y += bar_step;
      apart = false;
    }
    if (row.group > group) {
      text += group_rule(left, y);
      y += group_gap;
      group = row.group;
    }
    text += bar(row, left, y, scale, row.name == baseline);
    y += bar_step;
  }
  return text + "</svg>\n";
}

}  // namespace gradwire
