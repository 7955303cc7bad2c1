#include "sim/train/timed_under.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/core/refusal.hpp"
#include "sim/train/training.hpp"

namespace gradwire {
namespace {

/// Relative, of what the iteration takes then.
constexpr double close_enough = 1e-6;
/// What the strategy adds, f of the iteration, is missed by its share f of that after each.
constexpr int turns_max = 30;
constexpr int iterations = 2;

[[noreturn]] void refuse(const std::string& why) {
  throw UnsupportedConfiguration(UnsupportedConfiguration::Key::profile,
                                 "'iteration_strategy': " + why);
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
  Seconds took{};
  for (int turn = 0; turn < turns_max; ++turn) {
    auto made = strategy(job_view(alone));
    if (made->traits().independent_workers) {
      refuse(
          "asynchronous workers have no iteration together; expected a strategy whose ranks wait");
    }
    took = steady_iteration(alone, std::move(made), iterations);
    const double ratio = known / took;
    if (std::abs(ratio - 1) <= close_enough) return profile;
    const Seconds next = ratio * profile.iteration;
    profile = scaled_to(std::move(profile), next);
  }
  refuse(
      fmt::format("{:.4g} ms are told of one GPU, where the host alone takes {:.4g} under it; "
                  "expected a longer 'iteration_time'",
                  1e3 * known.count(), 1e3 * took.count()));
}

}  // namespace gradwire
