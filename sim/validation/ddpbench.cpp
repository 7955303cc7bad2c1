// Holds scenarios/pytorch_ddp_v100.yaml against PyTorch's DDP benchmark
// (results/reference/ddpbench.yaml): fits the wrapper's kernel overhead to the 1-GPU rows and the
// slowdown under communication to the 2-GPU rows, predicts 4, 8 and 16 GPUs, and prints both errors
// as Markdown. Fails when a prediction leaves its gate, or when the constants in the scenario are
// not those of the fit.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/statistics.hpp"

using namespace gradwire;

namespace {

constexpr const char* scenario_file = GRADWIRE_SOURCE_DIR "/scenarios/pytorch_ddp_v100.yaml";
constexpr int batch = 32;
constexpr std::array<int, 5> gpus = {1, 2, 4, 8, 16};
/// Points of the scenario before these rows: "no ddp" of the model.
constexpr std::size_t rows_per_model = 6;

struct Series {
  const char* model;
  std::array<int, 5> rate;           ///< printed p50 rate per GPU at `gpus`, bucket_cap 25 MiB
  std::array<double, 5> difference;  ///< percent at p75, bucket_cap 1 MiB against 25 MiB
};
// results/reference/ddpbench.yaml, same order
constexpr std::array<Series, 2> series = {{
    {"resnet50", {319, 310, 310, 307, 306}, {-0.3, -1.0, -1.6, -2.6, -3.8}},
    {"resnext50_32x4d", {217, 209, 208, 204, 203}, {-1.0, -1.5, -1.6, -1.5, -1.9}},
}};

/// Middle of the interval that a truncated rate stands for.
double measured(int rate) {
  return (batch / (rate + 1.0) + 1.0 * batch / rate) / 2;
}

struct Constants {
  double kernel_overhead_us;
  double overlap;
};

struct Percentiles {
  double p50;
  double p75;
};

class Model {
 public:
  Model(std::size_t index, std::string bucket_cap) : index_(index), cap_(std::move(bucket_cap)) {}

  /// Row 0..4 of `gpus`.
  [[nodiscard]] Percentiles predict(std::size_t row, const Constants& constants) const {
    const auto scenarios = config::read_scenario(
        scenario_file, {fmt::format("profile.overlap={}", constants.overlap),
                        fmt::format("gpu.kernel_overhead={} us", constants.kernel_overhead_us),
                        "strategy.bucket_cap=" + cap_});
    const auto result = cli::predict(scenarios.at(index_ * rows_per_model + 1 + row), false);
    const PooledSamples samples(result.samples, result.sample_weight);
    return {samples.percentile(50), samples.percentile(75)};
  }
  [[nodiscard]] double error(std::size_t row, const Constants& constants) const {
    return predict(row, constants).p50 / measured(series[index_].rate[row]) - 1;
  }

 private:
  std::size_t index_;
  std::string cap_;
};

/// Least point of a convex function by golden sections.
double minimise(double low, double high, const std::function<double(double)>& value) {
  constexpr double golden = 0.6180339887498949;
  for (int i = 0; i < 12; ++i) {
    const double a = high - golden * (high - low);
    const double b = low + golden * (high - low);
    (value(a) < value(b) ? high : low) = value(a) < value(b) ? b : a;
  }
  return (low + high) / 2;
}

double squares(std::size_t row, const Constants& constants) {
  double sum = 0;
  for (std::size_t m = 0; m < series.size(); ++m) {
    sum += std::pow(Model(m, "25 MiB").error(row, constants), 2);
  }
  return sum;
}

/// Prints a table of p50 and returns the worst |error| of the predicted rows (4 GPUs and up), and
/// through `misses` how many of them exceed `gate`.
void print_p50(const Constants& constants, std::size_t calibrated_rows, double gate, int& misses) {
  fmt::print("| model | GPUs | role | measured p50 | predicted | error |\n");
  fmt::print("| --- | --: | --- | --: | --: | --: |\n");
  for (std::size_t m = 0; m < series.size(); ++m) {
    for (std::size_t row = 0; row < gpus.size(); ++row) {
      const double error = Model(m, "25 MiB").error(row, constants);
      const double truth = measured(series[m].rate[row]);
      const bool predicted = row >= calibrated_rows;
      const bool missed = predicted && row >= 2 && std::abs(error) > gate;
      misses += missed ? 1 : 0;
      fmt::print("| {} | {} | {} | {:.2f} ms | {:.2f} ms | {:+.2f} %{} |\n", series[m].model,
                 gpus[row], predicted ? "predicted" : "calibrated", truth * 1e3,
                 truth * (1 + error) * 1e3, error * 100, missed ? " (misses 2 %)" : "");
    }
  }
  fmt::print("\n");
}

int print_buckets(const Constants& constants) {
  int misses = 0;
  fmt::print("| model | GPUs | measured | predicted |\n| --- | --: | --: | --: |\n");
  for (std::size_t m = 0; m < series.size(); ++m) {
    for (std::size_t row = 0; row < gpus.size(); ++row) {
      const double large = Model(m, "25 MiB").predict(row, constants).p75;
      const double small = Model(m, "1 MiB").predict(row, constants).p75;
      const double percent = -100 * (small - large) / large;  // the benchmark's sign
      if (m == 0 && std::abs(percent - series[m].difference[row]) > 1) ++misses;
      fmt::print("| {} | {} | {:+.1f} % | {:+.1f} % |\n", series[m].model, gpus[row],
                 series[m].difference[row], percent);
    }
  }
  fmt::print("\n");
  return misses;
}

Constants in_scenario() {
  const auto scenario = config::read_scenario(scenario_file, {}).at(1);
  return {scenario.gpu.kernel_overhead.count() * 1e6, scenario.profile->overlap.at("conv3")};
}

}  // namespace

int main() {
  /// The one row known to miss 2 %: ResNeXt-50 on one machine of 8 (see ddpbench.md).
  constexpr int known_misses = 1;
  Constants fit{2.64, 1};
  fit.kernel_overhead_us = minimise(1, 12, [&](double v) { return squares(0, {v, fit.overlap}); });
  fmt::print("### Calibrated on one GPU only (kernel overhead {:.2f} us)\n\n",
             fit.kernel_overhead_us);
  int ignored = 0;
  print_p50(fit, 1, 0.02, ignored);

  fit.overlap = minimise(1, 12, [&](double v) { return squares(1, {fit.kernel_overhead_us, v}); });
  fmt::print("### Calibrated on one and two GPUs (slowdown under communication {:.2f})\n\n",
             fit.overlap);
  const Constants used = in_scenario();
  int misses = 0;
  print_p50(used, 2, 0.02, misses);
  fmt::print("### Bucket cap 1 MiB against 25 MiB, p75\n\n");
  const int bucket_misses = print_buckets(used);

  const bool constants_fit =
      std::abs(used.kernel_overhead_us / fit.kernel_overhead_us - 1) < 0.02 &&
      std::abs(used.overlap / fit.overlap - 1) < 0.02;
  if (!constants_fit) {
    fmt::print(stderr, "the scenario has {} us and {}, the fit gives {:.3f} us and {:.3f}\n",
               used.kernel_overhead_us, used.overlap, fit.kernel_overhead_us, fit.overlap);
  }
  return constants_fit && misses <= known_misses && bucket_misses == 0 ? EXIT_SUCCESS
                                                                       : EXIT_FAILURE;
}
