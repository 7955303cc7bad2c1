#include "sim/report/ddl_benchmarks_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/statistics.hpp"
#include "sim/report/ddl_benchmarks_tries.hpp"
#include "sim/report/svg.hpp"

namespace gradwire {
namespace {

// Pixels.
constexpr double chart_left = 84;
constexpr double chart_top = 56;
constexpr double chart_height = 340;
constexpr double chart_below = 60;
constexpr double chart_bar = 18;
constexpr double group_gap = 30;
constexpr double legend_width = 190;
constexpr double legend_step = 22;
constexpr double label_room = 1.14;  ///< of the highest bar: what stands above it
constexpr double whisker = 4;        ///< half the width of a deviation's ends

/// Okabe and Ito's colours, then lighter ones of them.
constexpr auto chart_colours =
    std::to_array<std::string_view>({"#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9",
                                     "#cc79a7", "#f0e442", "#999999", "#7fb8d8", "#eaae7f"});

/// The methods of one task on one network.
struct Figure {
  std::vector<DdlBenchmarksTries> methods;
  std::vector<int> worlds;
  double scale = 1;  ///< pixels of a sample/s

  [[nodiscard]] double group_width() const {
    return chart_bar * static_cast<double>(methods.size()) + group_gap;
  }
  [[nodiscard]] double width() const { return group_width() * static_cast<double>(worlds.size()); }
};

Figure figure_of(std::vector<DdlBenchmarksTries> methods, double& most) {
  Figure figure{.methods = std::move(methods), .worlds = {}};
  std::set<int> worlds;
  most = 0;
  for (const auto& method : figure.methods) {
    for (const auto& [world, rates] : method.rates) {
      worlds.insert(world);
      most = std::max(most, mean(rates) + population_deviation(rates));
    }
  }
  most *= label_room;
  figure.worlds.assign(worlds.begin(), worlds.end());
  figure.scale = chart_height / most;
  return figure;
}

std::string chart_grid(const Figure& figure, double most) {
  const double bottom = chart_top + chart_height;
  const double middle = chart_top + chart_height / 2;
  return y_marks(most, chart_left, chart_left + figure.width(),
                 [&](double rate) { return bottom - rate * figure.scale; }) +
         fmt::format(R"svg(<text x="20" y="{0}" transform="rotate(-90 20 {0})" )svg"
                     R"(text-anchor="middle" fill="#555555">samples/s</text>)"
                     "\n",
                     middle);
}

std::string bar_of(const Figure& figure, std::size_t method, double x,
                   const std::vector<double>& rates) {
  const double height = mean(rates) * figure.scale;
  const double y = chart_top + chart_height - height;
  const double deviation = population_deviation(rates);
  std::string text = fmt::format(
      R"(<rect x="{:.1f}" y="{:.2f}" width="{}" height="{:.2f}" fill="{}"><title>{}: {:.1f} +- )"
      R"({:.1f}</title></rect>)"
      "\n",
      x, y, chart_bar, height, chart_colours[method % chart_colours.size()],
      xml_text(figure.methods[method].method), mean(rates), deviation);
  if (deviation <= 0) return text;
  return text + fmt::format(R"(<path d="M{:.1f} {:.2f}h{}m-{} 0v{:.2f}m-{} 0h{}" stroke="#222222" )"
                            R"(fill="none"/>)"
                            "\n",
                            x + chart_bar / 2 - whisker, y - deviation * figure.scale, 2 * whisker,
                            whisker, 2 * deviation * figure.scale, whisker, 2 * whisker);
}

std::string chart_group(const Figure& figure, std::size_t group) {
  const int world = figure.worlds[group];
  const double left =
      chart_left + figure.group_width() * static_cast<double>(group) + group_gap / 2;
  std::string text;
  double best = 0;
  double best_x = left;
  double best_top = 0;
  double gain = 0;
  for (std::size_t method = 0; method < figure.methods.size(); ++method) {
    const DdlBenchmarksTries& tries = figure.methods[method];
    const auto rates = tries.rates.find(world);
    if (rates == tries.rates.end()) continue;
    const double x = left + chart_bar * static_cast<double>(method);
    text += bar_of(figure, method, x, rates->second);
    if (mean(rates->second) <= best) continue;
    best = mean(rates->second);
    best_x = x + chart_bar / 2;
    best_top = best + population_deviation(rates->second);
    gain = best / tries.single_gpu;
  }
  return text + fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{:.1f}x</text>)"
                            R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)"
                            "\n",
                            best_x, chart_top + chart_height - best_top * figure.scale - 7, gain,
                            left + (figure.group_width() - group_gap) / 2,
                            chart_top + chart_height + 20, world);
}

std::string legend_of(const Figure& figure) {
  std::string text;
  const double x = chart_left + figure.width() + 20;
  for (std::size_t method = 0; method < figure.methods.size(); ++method) {
    const double y = chart_top + legend_step * static_cast<double>(method);
    text += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="12" height="12" fill="{}"/>)"
                        R"(<text x="{:.1f}" y="{:.1f}">{}</text>)"
                        "\n",
                        x, y, chart_colours[method % chart_colours.size()], x + 18, y + 11,
                        xml_text(figure.methods[method].method));
  }
  return text;
}

std::string svg_of(std::vector<DdlBenchmarksTries> methods, const std::string& title) {
  double most = 0;
  const Figure figure = figure_of(std::move(methods), most);
  const double legend = legend_step * static_cast<double>(figure.methods.size());
  std::string text = svg_open(chart_left + figure.width() + legend_width,
                              chart_top + std::max(chart_height, legend) + chart_below);
  text += fmt::format(R"(<text x="{}" y="30" font-size="16" font-weight="bold">{}</text>)"
                      "\n",
                      chart_left, xml_text(title));
  text += chart_grid(figure, most);
  for (std::size_t group = 0; group < figure.worlds.size(); ++group) {
    text += chart_group(figure, group);
  }
  text += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#555555">GPUs</text>)"
                      "\n",
                      chart_left + figure.width() / 2, chart_top + chart_height + 44);
  return text + legend_of(figure) + "</svg>\n";
}

/// Names come from scenarios: what is no letter, digit, '-' or '_' becomes '_'.
std::string file_name(const std::string& task, const std::string& rdma) {
  std::string name = fmt::format("{}-rdma{}", task, rdma);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return name;
}

}  // namespace

std::vector<DdlBenchmarksChart> ddl_benchmarks_charts(const ResultRows& rows) {
  std::vector<std::pair<std::string, std::vector<DdlBenchmarksTries>>> figures;  // by file name
  for (auto& tries : ddl_benchmarks_tries(rows)) {
    const std::string name = file_name(tries.task(), tries.rdma);
    auto found =
        std::ranges::find_if(figures, [&](const auto& figure) { return figure.first == name; });
    if (found == figures.end()) found = figures.insert(figures.end(), {name, {}});
    found->second.push_back(std::move(tries));
  }
  std::vector<DdlBenchmarksChart> charts;
  for (auto& [name, methods] : figures) {
    const DdlBenchmarksTries& first = methods.front();
    std::string title = fmt::format("{} (BS={}) on {}", first.dnn(), first.batch, first.connection);
    std::string svg = svg_of(std::move(methods), title);
    charts.push_back({name + ".svg", std::move(title), std::move(svg)});
  }
  return charts;
}

std::string ddl_benchmarks_figures(std::span<const DdlBenchmarksChart> charts) {
  std::string text;
  for (const DdlBenchmarksChart& chart : charts) {
    text += fmt::format("{}\n![{}]({})\n", text.empty() ? "\n# Figures\n" : "",
                        markdown_name(chart.title), chart.file);
  }
  return text;
}

}  // namespace gradwire
