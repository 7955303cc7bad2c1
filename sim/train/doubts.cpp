#include "sim/train/doubts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

namespace gradwire {
namespace {

/// Of coding whose time is not measured (coding_factor).
constexpr RelativeError coding_width{1 - 1 / coding_factor, coding_factor - 1};

/// Of an iteration: less is no doubt but a sum's rounding.
constexpr double rounding_most = 1e-12;

double share(const RunResult& result, Part part, double total) {
  return result.breakdown[static_cast<std::size_t>(part)] / total;
}

}  // namespace

std::vector<Doubt> doubts_of(const RunResult& result, const DoubtFacts& facts) {
  const double total = std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0);
  std::vector<Doubt> doubts;
  const auto add = [&](const char* name, RelativeError width, double of,
                       std::string_view of_width = "") {
    if (of <= 0) return;
    doubts.push_back({name, width.low * of, width.high * of, std::string(of_width), of});
  };
  const auto add_fitted = [&](const char* name, RelativeError DoubtWidths::*width, double of) {
    const auto* const known = std::ranges::find(doubt_widths, width, &DoubtWidth::width);
    add(name, facts.widths.*width, of, known->name);
  };
  const double exposed = share(result, Part::exposed_communication, total);
  const double slowdown = share(result, Part::overlap_slowdown, total);
  add("profile", facts.profile, 1 - exposed - slowdown);
  add("spread", {1 - facts.p5 / facts.p50, facts.p95 / facts.p50 - 1}, 1);
  add("coding", coding_width, result.coding_estimate_s / total);
  if (result.world_size > 1) {
    using Widths = DoubtWidths;
    const double hidden = result.communication_busy_s * result.overlap_fraction / total;
    add_fitted("several_gpus", &Widths::several_gpus, 1);
    add_fitted("machines", &Widths::machines, std::sqrt(std::log2(facts.machines)));
    add_fitted("communication", facts.over_tcp ? &Widths::exposed_tcp : &Widths::exposed, exposed);
    add_fitted("hidden_communication", facts.over_tcp ? &Widths::hidden_tcp : &Widths::hidden,
               hidden);
    if (facts.ports_assumed) add_fitted("ports", &Widths::ports, exposed + hidden);
    add_fitted("host", &Widths::host,
               share(result, Part::host, total) + share(result, Part::copies, total));
  }
  std::erase_if(doubts, [](const Doubt& doubt) {
    return doubt.low <= rounding_most && doubt.high <= rounding_most;
  });
  std::ranges::stable_sort(doubts, {}, [](const Doubt& doubt) { return -doubt.low - doubt.high; });
  return doubts;
}

double together(const std::vector<Doubt>& doubts, double Doubt::*end) {
  double squares = 0;
  for (const Doubt& doubt : doubts) squares += doubt.*end * (doubt.*end);
  return std::sqrt(squares);
}

}  // namespace gradwire
