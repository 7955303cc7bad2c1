#include "sim/report/ddp_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/report/benchmark_lines.hpp"
#include "sim/report/ddp_json.hpp"
#include "sim/report/efficiency_over.hpp"
#include "sim/report/groups.hpp"
#include "sim/report/metrics.hpp"

namespace gradwire {
namespace {

/// The benchmark's own widths: "%4d GPUs -- " and a label that fills 8 ("   1M/8G"). Longer ones
/// widen the column for the whole block.
struct Widths {
  std::size_t ranks = 4;
  std::size_t label = 8;
};

Widths widths_of(std::span<const Point> points) {
  Widths widths;
  for (const Point& point : points) {
    widths.ranks = std::max(widths.ranks, std::to_string(point.result.world_size).size());
    widths.label = std::max(widths.label, point.label.size() + 2);
  }
  return widths;
}

std::string row_start(const Point& point, Widths widths) {
  return plain_format("{:>{}} GPUs -- {:>{}}:", point.result.world_size, widths.ranks, point.label,
                      widths.label);
}

void append_benchmark(std::string& text, std::span<const Point> points, Widths widths) {
  auto out = std::back_inserter(text);
  const std::size_t blank = row_start(points.front(), widths).size();
  plain_format_to(out, "{:{}}", "", blank);
  for (int i = 0; i < 4; ++i) plain_format_to(out, "{:>14}{:>10}", "sec/iter", "ex/sec");
  text += '\n';
  for (const Point& point : points) {
    const RunResult& result = point.result;
    const PooledSamples pooled(result.samples, result.sample_weight);
    const double batch = result.batch_per_gpu * result.micro_batches;
    text += row_start(point, widths);
    for (const int percent : {50, 75, 90, 95}) {
      const double seconds = pooled.percentile(percent);
      plain_format_to(out, "  p{:02}:  {:1.3f}s  {:6}/s", percent, seconds,
                      static_cast<long>(batch / seconds));
    }
    text += '\n';
  }
}

void append_ours(std::string& text, std::span<const Point> points, Widths widths) {
  auto out = std::back_inserter(text);
  const std::size_t blank = row_start(points.front(), widths).size();
  plain_format_to(out, "{:{}}{:>14}{:>12}{:>26}{:>22}\n", "", blank, "ex/sec, all", "efficiency",
                  "exposed communication", "p50 between");
  for (const Point& point : points) {
    const Metrics m = metrics_of(point.result);
    const double exposed = seconds_of(point.result, Part::exposed_communication);
    const std::string efficiency =
        point.result.one_gpu_fits ? plain_format("{:.1f} %", 100 * m.scaling_efficiency) : "-";
    plain_format_to(out, "{}{:>12.1f}/s{:>12}{:>15.2f} ms ({:4.1f} %){:>13.3f} - {:.3f}s\n",
                    row_start(point, widths), m.throughput, efficiency, 1e3 * exposed,
                    100 * exposed / m.mean, m.low, m.high);
  }
}

/// Tokens and operations a second, and memory.
void append_work(std::string& text, std::span<const Point> points, Widths widths) {
  if (!shows_work(points.front().result)) return;
  auto out = std::back_inserter(text);
  const std::size_t blank = row_start(points.front(), widths).size();
  plain_format_to(out, "\n{:{}}{:>14}{:>12}{:>16}{:>10}{:>10}{:>12}{:>18}\n", "", blank, "tokens/s",
                  "per GPU", "TFLOP/s a GPU", "MFU", "HFU", "memory", "efficiency");
  for (const Point& point : points) {
    const Metrics m = metrics_of(point.result);
    const auto share = [](double of_peak) {
      return of_peak > 0 ? plain_format("{:.1f} %", 100 * of_peak) : std::string("-");
    };
    const auto over = efficiency_over_fewest(point, points);
    const std::string efficiency =
        over ? plain_format("{:.1f} % of {}", 100 * over->efficiency, over->world_size)
        : point.result.one_gpu_fits ? plain_format("{:.1f} % of 1", 100 * m.scaling_efficiency)
                                    : "-";
    const auto& memory = point.result.memory;
    const auto count = [](double tokens) {
      return tokens > 0 ? plain_format("{:.0f}", tokens) : std::string("-");
    };
    plain_format_to(out, "{}{:>14}{:>12}{:>16.1f}{:>10}{:>10}{:>12}{:>18}\n",
                    row_start(point, widths), count(m.tokens_per_s),
                    count(m.tokens_per_s / point.result.world_size), 1e-12 * m.flops_per_gpu,
                    share(m.mfu), share(m.hfu), memory ? readable_bytes(memory->peak) : "-",
                    efficiency);
  }
}

std::string point_title(const Point& point) {
  return plain_format("Benchmark: {} with batch size {}\n\n", point.model,
                      point.result.batch_per_gpu);
}

std::string as_text(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string ddp_benchmark_text(std::span<const Point> points) {
  const auto json = ddp_json(points);
  const std::string bucket_size = as_text(json.at("bucket_size"));
  const bool counted = json.at("bucket_size").is_number();
  std::string text = plain_format(
      "-----------------------------------\n"
      "PyTorch distributed benchmark suite\n"
      "-----------------------------------\n"
      "\n"
      "* PyTorch version: {}\n"
      "* CUDA version: {}\n"
      "* Distributed backend: {}\n"
      "* Maximum bucket size: {}{}\n"
      "\n"
      "--- nvidia-smi topo -m ---\n"
      "\n"
      "{}\n"
      "--------------------------\n"
      "\n",
      as_text(json.at("pytorch_version")), as_text(json.at("cuda_version")),
      as_text(json.at("distributed_backend")), bucket_size, counted ? "MB" : "",
      written_in_scenario(points.front(), "cluster.node"));
  for (const std::span<const Point> block : benchmark_groups(points)) {
    text += '\n' + point_title(block.front());
    append_benchmark(text, block, widths_of(block));
  }
  return text;
}

std::string ddp_table(std::span<const Point> points) {
  std::string text;
  for (const std::span<const Point> block : benchmark_groups(points)) {
    const Point& first = block.front();
    if (!text.empty()) text += '\n';
    text += point_title(first);
    const Widths widths = widths_of(block);
    append_benchmark(text, block, widths);
    text += '\n';
    append_ours(text, block, widths);
    append_work(text, block, widths);
  }
  return text;
}

}  // namespace gradwire
