#include "sim/train/gain.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <numeric>
#include <string>

namespace gradwire {
namespace {

/// Of the efficiency, above 1: what tables show as 100.1 %.
constexpr double gain_warned = 0.0005;

}  // namespace

std::optional<Warning> gain_warning(const RunResult& result, Seconds optimizer) {
  const double alone = result.single_gpu_iteration_s;
  const double taken = std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0);
  if (taken * (1 + gain_warned) >= alone) return std::nullopt;
  const double here = result.breakdown[static_cast<std::size_t>(Part::optimizer)];
  const std::string reason =
      here * (1 + gain_warned) < optimizer.count()
          ? fmt::format(
                "its optimizer takes {:.3g} of {:.3g} ms; the rest is divided among ranks, "
                "done by servers, or in an iteration that is not measured (more run.warmup)",
                1e3 * here, 1e3 * optimizer.count())
          : std::string(
                "more of what the host does is behind the GPU's work, such as the "
                "optimizer's kernels between the next forward's layers");
  return Warning{"beats-one-gpu",
                 fmt::format("an iteration takes {:.4g} ms, that of a single GPU {:.4g}: {}",
                             1e3 * taken, 1e3 * alone, reason)};
}

}  // namespace gradwire
