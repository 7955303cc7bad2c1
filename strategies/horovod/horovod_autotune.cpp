#include "strategies/horovod/horovod_autotune.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "strategies/horovod/gaussian_process.hpp"
#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// Knobs as the search sees them: MiB and ms. parameter_manager.cc, joint_params_.
using Point = GaussianProcess::Point;
constexpr std::array<Point, 4> test_points = {Point{4, 5}, Point{32, 50}, Point{16, 25},
                                              Point{8, 10}};
constexpr int threshold_most = 64;  ///< MiB
constexpr int cycle_least = 1;      ///< ms
constexpr int cycle_most = 100;     ///< ms
constexpr double mebibyte = 1024 * 1024;
/// DEFAULT_GAUSSIAN_PROCESS_NOISE, in the score's unit.
constexpr double process_noise = 0.8;
constexpr std::int64_t steps_most = 1000;
constexpr std::int64_t samples_most = 1000;

HorovodOptions options_at(const HorovodOptions& options, const Point& point) {
  HorovodOptions tried = options;
  tried.fusion_threshold = Bytes{static_cast<std::int64_t>(point[0] * mebibyte)};
  tried.cycle_time = Seconds{point[1] * 1e-3};
  return tried;
}

/// The search's points, with what is fixed at its value.
class Space {
 public:
  Space(const HorovodOptions& options, const AutotuneOptions& tuning)
      : tuning_(tuning),
        fixed_{static_cast<double>(options.fusion_threshold.count()) / mebibyte,
               options.cycle_time.count() * 1e3} {}

  [[nodiscard]] Point within(Point point) const {
    if (tuning_.fusion_threshold_fixed) point[0] = fixed_[0];
    if (tuning_.cycle_time_fixed) point[1] = fixed_[1];
    return point;
  }

  [[nodiscard]] bool is_one_point() const {
    return tuning_.fusion_threshold_fixed && tuning_.cycle_time_fixed;
  }

  /// Where the scores so far promise most.
  [[nodiscard]] Point next(const std::vector<Point>& points,
                           const std::vector<double>& scores) const {
    const GaussianProcess process(points, scores, process_noise);
    const int thresholds = tuning_.fusion_threshold_fixed ? 0 : threshold_most;
    const int cycles = tuning_.cycle_time_fixed ? cycle_least : cycle_most;
    Point best = within({0, cycle_least});
    double most = process.expected_improvement(best);
    for (int threshold = 0; threshold <= thresholds; ++threshold) {
      for (int cycle = cycle_least; cycle <= cycles; ++cycle) {
        const Point point = within({static_cast<double>(threshold), static_cast<double>(cycle)});
        const double improvement = process.expected_improvement(point);
        if (improvement <= most) continue;
        most = improvement;
        best = point;
      }
    }
    return best;
  }

 private:
  AutotuneOptions tuning_;
  Point fixed_;
};

/// One search for threshold and cycle time; improves `best`.
void search(const HorovodOptions& options, const AutotuneOptions& tuning,
            const AutotuneScore& score, Autotuned& best) {
  const Space space(options, tuning);
  const int samples = space.is_one_point() ? 1 : tuning.bayes_opt_max_samples + 1;
  std::vector<Point> points;
  std::vector<double> scores;
  for (int i = 0; i < samples; ++i) {
    const auto test = static_cast<std::size_t>(i);
    points.push_back(test < test_points.size() ? space.within(test_points[test])
                                               : space.next(points, scores));
    const HorovodOptions tried = options_at(options, points.back());
    scores.push_back(score(tried));
    ++best.samples;
    if (scores.back() <= best.score) continue;
    best.score = scores.back();
    best.options = tried;
  }
}

}  // namespace

Autotuned autotune(const HorovodOptions& options, const AutotuneOptions& tuning,
                   const AutotuneScore& score) {
  Autotuned best{.options = options};
  if (!tuning.cache_fixed) {
    HorovodOptions without = options;
    without.cache_capacity = 0;
    search(without, tuning, score, best);
  }
  search(options, tuning, score, best);
  return best;
}

std::string text_of(const Autotuned& tuned) {
  return fmt::format("fusion_threshold {:.6g} MiB, cycle_time {:.6g} ms, cache {} ({} samples)",
                     static_cast<double>(tuned.options.fusion_threshold.count()) / mebibyte,
                     tuned.options.cycle_time.count() * 1e3,
                     tuned.options.cache_capacity > 0 ? "on" : "off", tuned.samples);
}

AutotuneOptions read_autotune(Knobs& knobs) {
  AutotuneOptions tuning;
  tuning.on = knobs.yes("autotune", false,
                        "HOROVOD_AUTOTUNE, parameter_manager.cc: searches fusion_threshold, "
                        "cycle_time and the cache, of those that are not set");
  ConditionalKnobs only(knobs);
  tuning.steps_per_sample =
      static_cast<int>(only.count("autotune_steps_per_sample", tuning.steps_per_sample, 1,
                                  steps_most, "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE"));
  tuning.bayes_opt_max_samples =
      static_cast<int>(only.count("autotune_bayes_opt_max_samples", tuning.bayes_opt_max_samples, 1,
                                  samples_most, "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES"));
  if (!tuning.on) only.refuse_without("autotune: true");
  tuning.fusion_threshold_fixed = knobs.given("fusion_threshold");
  tuning.cycle_time_fixed = knobs.given("cycle_time");
  tuning.cache_fixed = knobs.given("cache_capacity");
  return tuning;
}

}  // namespace gradwire
