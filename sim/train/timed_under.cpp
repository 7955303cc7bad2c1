#include "sim/train/timed_under.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "sim/core/refusal.hpp"
#include "sim/train/training.hpp"

namespace gradwire {
namespace {

/// Relative, of what the iteration takes then.
constexpr double close_enough = 1e-6;
/// Far more than a line takes; where the host alone needs what is known, or more, they end here.
constexpr int turns_max = 30;
constexpr int iterations = 2;

[[noreturn]] void refuse(const std::string& why) {
  throw UnsupportedConfiguration(UnsupportedConfiguration::Key::profile,
                                 "'iteration_strategy': " + why);
}

/// What an iteration takes under the strategy whose profile takes `compute`.
struct Try {
  Seconds compute;
  Seconds took;
};

/// The compute to try after `now`: on the line through it and the try before, where that rises;
/// in proportion otherwise, which misses by the strategy's share of the iteration, turn for turn.
Seconds next_compute(Seconds known, const Try& now, const std::optional<Try>& before) {
  if (before) {
    const double slope = (now.took - before->took) / (now.compute - before->compute);
    if (slope > 0) {
      const Seconds next = now.compute + 1 / slope * (known - now.took);
      if (next > Seconds{}) return next;
    }
  }
  return known / now.took * now.compute;
}

}  // namespace

ComputeProfile profile_timed_under(const Job& job, const StrategyFactory& strategy,
                                   int micro_batches, Seconds known) {
  if (job.classes != nullptr && !job.classes->others.empty()) {
    refuse("of GPUs that differ nobody says which was timed; expected one type");
  }
  const Placement one{job.placement.front()};
  ComputeProfile profile = job.profile;
  const Job alone{.profile = profile,
                  .gpu = job.gpu,
                  .cluster = job.cluster,
                  .placement = one,
                  .make_strategy = strategy,
                  .library = job.library,
                  .jitter = {},
                  .stragglers = {},
                  .run = job.run,
                  .engine = {},
                  .micro_batches = micro_batches,
                  .servers = job.servers};
  Try now{};
  std::optional<Try> before;
  for (int turn = 0; turn < turns_max; ++turn) {
    auto made = strategy(job_view(alone));
    if (made->traits().independent_workers) {
      refuse(
          "asynchronous workers have no iteration together; expected a strategy whose ranks wait");
    }
    now = {profile.iteration, steady_iteration(alone, std::move(made), iterations)};
    if (std::abs(known / now.took - 1) <= close_enough) return profile;
    const Seconds next = next_compute(known, now, before);
    before = now;
    profile = scaled_to(std::move(profile), next);
  }
  refuse(
      fmt::format("{:.4g} ms are told of one GPU, where the host alone takes {:.4g} under it; "
                  "expected a longer 'iteration_time'",
                  1e3 * known.count(), 1e3 * now.took.count()));
}

}  // namespace gradwire
