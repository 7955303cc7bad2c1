#include "sim/train/doubts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace gradwire {
namespace {

/// Several GPUs never do much better together than one by itself, and often worse, beyond what
/// `jitter.several_gpus` counts, by what no scenario says: loaders of their input, other users. The
/// ends are those of 3 % faster and 16 % slower, fitted when those 2.4 % were not counted.
constexpr RelativeError several_width{0.05, 0.14};
/// And several machines: of the root of the doublings of one, as if each added a doubt of its own.
constexpr RelativeError machines_width{0.04, 0.07};
/// Of communication that compute does not hide, over TCP and otherwise.
constexpr RelativeError tcp_width{0.56, 0.10};
constexpr RelativeError exposed_width{0.60, 1.30};
/// Of communication that it hides, where it takes longer than predicted: networks of clouds over
/// TCP carry down to a fifth of what is stated.
constexpr RelativeError hidden_tcp_width{0, 2.70};
constexpr RelativeError hidden_width{0, 0.42};
/// Of what the host and copies add to the kernels, where several ranks run.
constexpr RelativeError host_width{0.50, 0};
/// Of coding whose time is not measured (coding_factor).
constexpr RelativeError coding_width{1 - 1 / coding_factor, coding_factor - 1};

double share(const RunResult& result, Part part, double total) {
  return result.breakdown[static_cast<std::size_t>(part)] / total;
}

}  // namespace

std::vector<Doubt> doubts_of(const RunResult& result, const DoubtFacts& facts) {
  const double total = std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0);
  std::vector<Doubt> doubts;
  const auto add = [&](const char* name, RelativeError width, double of) {
    if (of > 0) doubts.push_back({name, width.low * of, width.high * of});
  };
  const double exposed = share(result, Part::exposed_communication, total);
  const double slowdown = share(result, Part::overlap_slowdown, total);
  add("profile", facts.profile, 1 - exposed - slowdown);
  add("spread", {1 - facts.p5 / facts.p50, facts.p95 / facts.p50 - 1}, 1);
  add("coding", coding_width, result.coding_estimate_s / total);
  if (result.world_size > 1) {
    add("several_gpus", several_width, 1);
    add("machines", machines_width, std::sqrt(std::log2(facts.machines)));
    add("communication", facts.over_tcp ? tcp_width : exposed_width, exposed);
    add("hidden_communication", facts.over_tcp ? hidden_tcp_width : hidden_width,
        result.communication_busy_s * result.overlap_fraction / total);
    add("host", host_width, share(result, Part::host, total) + share(result, Part::copies, total));
  }
  std::erase_if(doubts, [](const Doubt& doubt) { return doubt.low <= 0 && doubt.high <= 0; });
  std::ranges::stable_sort(doubts, {}, [](const Doubt& doubt) { return -doubt.low - doubt.high; });
  return doubts;
}

double together(const std::vector<Doubt>& doubts, double Doubt::*end) {
  double squares = 0;
  for (const Doubt& doubt : doubts) squares += doubt.*end * (doubt.*end);
  return std::sqrt(squares);
}

}  // namespace gradwire
