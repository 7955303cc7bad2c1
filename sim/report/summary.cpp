#include "sim/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/report/metrics.hpp"

namespace gradwire {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr std::size_t links_shown = 5;
constexpr double least_shown = 5e-7;  ///< s; less is 0.000 ms
constexpr double noise_least = 1e-6;  ///< relative; less is rounding
constexpr double seconds_from = 10;   ///< s; a longer iteration is reported in seconds, not ms

std::string widest_doubt(const RunResult& result) {
  if (result.doubts.empty()) return "";
  return fmt::format(" in 9 of 10 jobs; widest doubt: {}", result.doubts.front().name);
}

/// Tokens and operations a second.
void append_work(Out out, const Metrics& m, const RunResult& r) {
  if (!shows_work(r)) return;
  plain_format_to(out, "               ");
  if (r.tokens_per_sample > 0) {
    plain_format_to(out, "{:.0f} tokens/s, {:.0f} per GPU{}", m.tokens_per_s,
                    m.tokens_per_s / r.world_size, r.model_flops > 0 ? "; " : "");
  }
  if (r.model_flops > 0) plain_format_to(out, "{:.1f} TFLOP/s per GPU", 1e-12 * m.flops_per_gpu);
  if (m.mfu > 0) plain_format_to(out, ", MFU {:.1f} %", 100 * m.mfu);
  if (r.recomputed_flops > 0 && m.hfu > 0) plain_format_to(out, ", HFU {:.1f} %", 100 * m.hfu);
  plain_format_to(out, "\n");
}

void append_memory(Out out, const RunResult& r) {
  if (!r.memory) return;
  const RankMemory& memory = *r.memory;
  plain_format_to(
      out, "Memory         {} of a GPU{}, {} in tensors at once:", readable_bytes(memory.peak),
      memory.capacity > 0 ? "'s " + readable_bytes(memory.capacity) : "",
      readable_bytes(memory.allocated));
  const std::array<std::pair<std::string_view, double>, 10> parts = {
      {{"weights", memory.weights},
       {"gradients", memory.gradients},
       {"optimizer", memory.optimizer},
       {"activations", memory.activations},
       {"logits", memory.logits},
       {"gathered", memory.gathered},
       {"buffers", memory.buffers},
       {"step", memory.step},
       {"slack", memory.slack},
       {"context", memory.context}}};
  std::string_view separator;
  for (const auto& [name, bytes] : parts) {
    if (bytes <= 0) continue;
    plain_format_to(out, "{} {} {}", separator, name, readable_bytes(bytes));
    separator = ",";
  }
  if (memory.host > 0) {
    plain_format_to(out, "; {} of the host's{}", readable_bytes(memory.host),
                    memory.host_capacity > 0
                        ? ", where a GPU's share is " + readable_bytes(memory.host_capacity)
                        : "");
  }
  plain_format_to(out, "\n");
}

void append_iteration(Out out, const Metrics& m, const RunResult& r) {
  const bool in_seconds = m.mean > seconds_from;
  const double scale = in_seconds ? 1 : 1e3;
  const std::string_view unit = in_seconds ? "s" : "ms";
  plain_format_to(out, "Iteration      {:.2f} {}", scale * m.mean, unit);
  const auto [least, most] = std::ranges::minmax(r.samples);
  if (most - least > noise_least * m.mean) {
    plain_format_to(out, "   p50 {:.2f}   p75 {:.2f}   p90 {:.2f}   p95 {:.2f}\n", scale * m.p50,
                    scale * m.p75, scale * m.p90, scale * m.p95);
  } else {
    plain_format_to(out, ", the same each time\n");
  }
  plain_format_to(out, "Interval       p50 between {:.2f} and {:.2f} {}{}\n", scale * m.low,
                  scale * m.high, unit, widest_doubt(r));
  plain_format_to(out, "Throughput     {:.1f} samples/s, {:.1f} per GPU\n", m.throughput,
                  m.throughput_per_gpu);
  if (r.idle_ranks > 0) {
    plain_format_to(out, "Inputs         {:.2f} of {} ranks have run out of them, on average\n",
                    r.idle_ranks, r.world_size);
  }
  append_work(out, m, r);
  if (r.one_gpu_fits) {
    plain_format_to(out, "Efficiency     {:.1f} % of {} times a single GPU ({:.1f} samples/s)\n\n",
                    100 * m.scaling_efficiency, r.world_size, m.single_gpu_throughput);
  } else {
    plain_format_to(out, "Efficiency     not defined: a single GPU cannot hold the job\n\n");
  }
}

/// Does the rank in the middle spend its time otherwise than the slowest?
bool has_other_median(const RunResult& r) {
  if (!r.breakdown_median) return false;
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    if (std::abs((*r.breakdown_median)[i] - r.breakdown[i]) >= least_shown) return true;
  }
  return false;
}

void append_breakdown(Out out, const Metrics& m, const RunResult& r) {
  const bool asynchronous = r.fidelity == "worker";
  const bool has_median = has_other_median(r);
  plain_format_to(out, "{:<28}{:>10}{:>9}{}\n",
                  asynchronous ? "Iteration, mean over ranks" : "Slowest rank's iteration", "ms",
                  "%", has_median ? plain_format("{:>20}{:>9}", "median rank's ms", "%") : "");
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    const double seconds = r.breakdown[i];
    const double of_median = has_median ? (*r.breakdown_median)[i] : 0;
    if (std::max(std::abs(seconds), std::abs(of_median)) < least_shown) continue;
    std::string name(part_names[i]);
    std::replace(name.begin(), name.end(), '_', ' ');
    plain_format_to(out, "  {:<26}{:>10.3f}{:>9.1f}", name, 1e3 * seconds, 100 * seconds / m.mean);
    if (has_median) {
      plain_format_to(out, "{:>20.3f}{:>9.1f}", 1e3 * of_median, 100 * of_median / m.mean);
    }
    plain_format_to(out, "\n");
  }
  plain_format_to(out, "\n");
}

void append_communication(Out out, const RunResult& r) {
  plain_format_to(out,
                  "Communication  {} collectives an iteration, {} sent by a rank, busy {:.2f} ms, "
                  "{:.1f} % of it hidden\n",
                  r.collectives, readable_bytes(static_cast<double>(r.bytes_per_rank)),
                  1e3 * r.communication_busy_s, 100 * r.overlap_fraction);
  if (r.contended_s > 0) {
    plain_format_to(out, "{:<15}{} an iteration shared links, {:.2f} ms longer than uncontended\n",
                    "Contended", readable_bytes(r.contended_bytes), 1e3 * r.contended_s);
  }
  for (std::size_t i = 0; i < std::min(links_shown, r.links.size()); ++i) {
    const LinkReport& link = r.links[i];
    plain_format_to(out, "{:<15}{:<24}{:>6.1f} % used, {} an iteration\n",
                    i == 0 ? "Busiest links" : "", link.name, 100 * link.utilisation,
                    readable_bytes(link.bytes));
  }
}

void append_origin(Out out, const RunResult& r) {
  plain_format_to(out, "Profile        {}{}\n", r.profile_source,
                  r.framework.empty() ? "" : ", host of " + r.framework);
  // Where nothing shares a link with others, all fidelities are the same.
  if (r.contended_s > 0 || r.fidelity == "worker") {
    plain_format_to(out, "Fidelity       {} ({})\n", r.fidelity, r.fidelity_why);
  }
  const std::string solver = !r.engine_simgrid.empty()       ? "by " + r.engine_simgrid
                             : r.engine_solver == "gradwire" ? "by our own solver"
                                                             : "nothing shared";
  plain_format_to(out,
                  "Engine         {:.1f} ms to plan, {:.1f} to run, {}: {} links in {} classes, {} "
                  "flows in {}, {}\n",
                  1e3 * r.engine_cost.plan_s, 1e3 * r.engine_cost.run_s,
                  readable_bytes(r.engine_cost.peak_memory), r.engine_links, r.engine_link_classes,
                  r.engine_flows, r.engine_flow_classes, solver);
  for (const Warning& warning : r.warnings) {
    plain_format_to(out, "Warning        {} ({})\n", warning.text, warning.code);
  }
}

}  // namespace

std::string summary(const Point& point) {
  const RunResult& r = point.result;
  const Metrics m = metrics_of(r);
  std::string text;
  const Out out(text);
  plain_format_to(out, "{}{}: {}, {} GPU{}, batch {} per GPU{}, {}\n\n", point.name,
                  point.label.empty() ? "" : plain_format(" [{}]", point.label), point.model,
                  r.world_size, r.world_size == 1 ? "" : "s", r.batch_per_gpu,
                  r.micro_batches == 1 ? "" : plain_format(" x {}", r.micro_batches),
                  point.strategy);
  append_iteration(out, m, r);
  append_breakdown(out, m, r);
  append_communication(out, r);
  append_memory(out, r);
  append_origin(out, r);
  return text;
}

}  // namespace gradwire
