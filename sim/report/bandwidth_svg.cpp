#include "sim/report/bandwidth_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/svg.hpp"

namespace gradwire {
namespace {

using Row = CollectiveReport::Row;

// Pixels.
constexpr double curves_width = 900;
constexpr double curves_height = 492;
constexpr double curves_left = 72;
constexpr double curves_right = 212;
constexpr double curves_top = 64;
constexpr double curves_bottom = 56;
constexpr double curves_plot_width = curves_width - curves_left - curves_right;
constexpr double curves_plot_height = curves_height - curves_top - curves_bottom;
constexpr double headroom = 1.08;  ///< of the axis over the highest point

/// Okabe and Ito's palette without yellow, told apart by colour-blind readers.
constexpr std::array<std::string_view, 9> curve_colours = {"#0072b2", "#d55e00", "#009e73",
                                                           "#cc79a7", "#56b4e9", "#e69f00",
                                                           "#000000", "#999999", "#7a4b00"};

/// "64 KiB"; sizes between keep one digit.
std::string size_text(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes == std::floor(bytes) ? 0 : 1, units[unit]);
}

class Plot {
 public:
  explicit Plot(std::span<const CollectiveReport> reports) {
    bool first = true;
    for (const CollectiveReport& report : reports) {
      for (const Row& row : report.rows) {
        const double place = std::log2(static_cast<double>(row.bytes));
        begin_ = first ? place : std::min(begin_, place);
        end_ = first ? place : std::max(end_, place);
        most_ = std::max(most_, 1e-9 * bus_bandwidth(report, row));
        first = false;
      }
    }
    if (end_ - begin_ < 1) end_ = begin_ + 1;
    if (most_ <= 0) most_ = 1;
  }

  [[nodiscard]] double x(double bytes) const {
    return curves_left + (std::log2(bytes) - begin_) / (end_ - begin_) * curves_plot_width;
  }
  [[nodiscard]] double y(double gigabytes) const {
    return curves_top + curves_plot_height * (1 - gigabytes / (headroom * most_));
  }

  [[nodiscard]] std::string axes() const {
    std::string text = y_marks(most_, curves_left, curves_left + curves_plot_width,
                               [&](double rate) { return y(rate); });
    // A mark every second, fourth, ... doubling, so that labels keep clear of each other.
    const int doublings = static_cast<int>(std::floor(end_) - std::ceil(begin_));
    const int step = std::max(1, static_cast<int>(std::ceil(doublings / 10.0)));
    for (int power = static_cast<int>(std::ceil(begin_)); power <= end_; power += step) {
      const double place = x(std::exp2(power));
      text +=
          fmt::format(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#e3e5e8"/>)"
                      R"(<text x="{0:.1f}" y="{3}" text-anchor="middle" fill="#555555">{4}</text>)"
                      "\n",
                      place, curves_top, curves_top + curves_plot_height,
                      curves_top + curves_plot_height + 20, size_text(std::exp2(power)));
    }
    return text +
           fmt::format(R"(<text x="{}" y="{}" text-anchor="middle" fill="#555555">size</text>)"
                       R"(<text x="{}" y="{}" fill="#555555">bus bandwidth (GB/s)</text>)"
                       "\n",
                       curves_left + curves_plot_width / 2, curves_height - 12, curves_left - 52,
                       curves_top - 10);
  }

 private:
  double begin_ = 0;  ///< log2 of the smallest size
  double end_ = 0;
  double most_ = 0;  ///< GB/s
};

/// What has a colour of its own: an operation, or an algorithm with its protocol.
class Legend {
 public:
  std::string_view colour(const std::string& name) {
    const auto found = std::ranges::find(names_, name);
    const auto index = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end()) names_.push_back(name);
    return curve_colours[index % curve_colours.size()];
  }
  [[nodiscard]] std::string text() {
    std::string text;
    double y = curves_top + 10;
    for (const std::string& name : names_) {
      text +=
          fmt::format(R"(<circle cx="{}" cy="{}" r="5" fill="{}"/><text x="{}" y="{}">{}</text>)"
                      "\n",
                      curves_left + curves_plot_width + 24, y, colour(name),
                      curves_left + curves_plot_width + 36, y + 4, xml_text(name));
      y += 22;
    }
    return text;
  }

 private:
  std::vector<std::string> names_;
};

struct Place {
  double x = 0;
  double y = 0;
};

std::vector<Place> points_of(const CollectiveReport& report, const Plot& plot) {
  std::vector<Place> points;
  for (const Row& row : report.rows) {
    points.push_back(
        {plot.x(static_cast<double>(row.bytes)), plot.y(1e-9 * bus_bandwidth(report, row))});
  }
  return points;
}

/// Curves that lie on each other take turns: a dash and a mark each.
struct Turn {
  std::size_t of = 1;  ///< curves
  std::size_t index = 0;
};

bool lie_on_each_other(const std::vector<Place>& a, const std::vector<Place>& b) {
  constexpr double apart = 1.5;  // pixels
  return std::ranges::equal(a, b, [](const Place& one, const Place& other) {
    return std::abs(one.x - other.x) < apart && std::abs(one.y - other.y) < apart;
  });
}

Turn turn_of(std::span<const std::vector<Place>> curves, std::size_t index) {
  Turn turn{0, 0};
  for (std::size_t other = 0; other < curves.size(); ++other) {
    if (!lie_on_each_other(curves[index], curves[other])) continue;
    ++turn.of;
    if (other < index) ++turn.index;
  }
  return turn;
}

std::string dashes(const Turn& turn) {
  constexpr std::size_t dash = 10;  // pixels
  if (turn.of == 1) return "";
  return fmt::format(R"( stroke-dasharray="{} {}" stroke-dashoffset="-{}")", dash,
                     dash * (turn.of - 1), dash * turn.index);
}

std::string bandwidth_curve(const CollectiveReport& report, std::span<const Place> points,
                            const Turn& turn, bool alone, Legend& legend) {
  const std::string operation(report.label.empty() ? name_of(report.kind) : report.label);
  const std::string_view line = alone ? "#b9bec6" : legend.colour(operation);
  std::string path;
  std::string marks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Row& row = report.rows[i];
    path += fmt::format("{:.1f},{:.1f} ", points[i].x, points[i].y);
    if (i % turn.of != turn.index) continue;
    const std::string how =
        row.protocol.empty() ? row.algorithm : row.algorithm + ", " + row.protocol;
    marks += fmt::format(
        R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"><title>{}: {}</title></circle>)"
        "\n",
        points[i].x, points[i].y, alone ? legend.colour(how) : line,
        size_text(static_cast<double>(row.bytes)), xml_text(how));
  }
  return fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"{}/>)"
                     "\n",
                     path, line, dashes(turn)) +
         marks;
}

}  // namespace

std::string bandwidth_svg(std::span<const CollectiveReport> reports, const std::string& title) {
  const Plot plot(reports);
  Legend legend;
  std::string text = svg_open(curves_width, curves_height);
  const bool alone = reports.size() == 1;
  const std::string what =
      reports.empty() || !reports.front().label.empty()
          ? title
          : fmt::format("{}{} ranks, {}",
                        alone ? std::string(name_of(reports.front().kind)) + " on " : "",
                        reports.front().ranks, title);
  text += fmt::format(R"(<text x="{}" y="26" font-size="18" font-weight="bold">{}</text>)"
                      "\n",
                      curves_left, xml_text(what));
  text += plot.axes();
  std::vector<std::vector<Place>> curves;
  for (const CollectiveReport& report : reports) curves.push_back(points_of(report, plot));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    text += bandwidth_curve(reports[i], curves[i], turn_of(curves, i), alone, legend);
  }
  return text + legend.text() + "</svg>\n";
}

}  // namespace gradwire
