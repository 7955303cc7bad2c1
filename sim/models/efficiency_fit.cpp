#include "sim/models/efficiency_fit.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace gradwire {
namespace {

/// Each step of the grid over the one before.
constexpr double grid_step = 1.02;
constexpr double flops_least = 0.02;
constexpr int flops_steps = 288;  ///< up to 6
constexpr double memory_least = 0.1;
constexpr int memory_steps = 187;  ///< up to 4
/// Layers of fewer launches than this worth of time say more about launches than about work.
constexpr double launches_worth = 3;

/// Fewer layers tell one share, not two.
constexpr std::size_t layers_least = 3;

using Members = std::vector<const TimedWork*>;

class ClassSearch {
 public:
  ClassSearch(const Members& members, const GpuSpec& gpu, const std::string& dtype)
      : members_(members) {
    const std::string executed = executed_dtype(gpu, dtype);
    const std::string_view work = members.front()->work.work_class;
    is_matrix_ = is_matrix(work);
    // No work is faster than the units' peak. That of the fp32 units bounds neither Winograd's,
    // which has fewer operations, nor grouped convolutions, which may run on others.
    const bool bounded = has_matrix_units(gpu, executed) && !work.starts_with("grouped_conv");
    flops_most_ = bounded ? 1 : INFINITY;
    timers_.reserve(members.size());
    for (const TimedWork* layer : members) timers_.emplace_back(layer->work, gpu, executed);
  }

  /// Sum of squares of the logarithms with these shares.
  [[nodiscard]] double squares(const Efficiency& efficiency) {
    set_flops(efficiency.flops);
    return squares(efficiency.memory);
  }

  [[nodiscard]] Efficiency best() {
    Efficiency found;
    double least = INFINITY;
    const auto consider = [&](double flops, double memory) {
      const double sum = squares(memory);
      if (sum >= least) return;
      least = sum;
      found = {flops, memory};
    };
    const auto memories = [&](double flops) {
      set_flops(flops);
      if (is_matrix_) consider(flops, 0);
      if (is_matrix_ && members_.size() < layers_least) return;
      for (int i = 0; i < memory_steps; ++i) {
        consider(flops, memory_least * std::pow(grid_step, i));
      }
    };
    if (!is_matrix_) memories(0);
    for (int i = 0; is_matrix_ && i < flops_steps; ++i) {
      const double flops = flops_least * std::pow(grid_step, i);
      if (flops <= flops_most_) memories(flops);
    }
    return found;
  }

 private:
  void set_flops(double share) {
    for (KernelTimer& timer : timers_) timer.set_flops(share);
  }

  /// With the share of the peak that was set.
  [[nodiscard]] double squares(double memory) const {
    double sum = 0;
    for (std::size_t i = 0; i < timers_.size(); ++i) {
      const double log = std::log(timers_[i].time(memory) / members_[i]->time);
      sum += log * log;
    }
    return sum;
  }

  const Members& members_;
  std::vector<KernelTimer> timers_;  ///< of the members
  bool is_matrix_ = false;
  double flops_most_ = 0;
};

constexpr std::size_t factor_count = 5;
using Logs = std::array<double, factor_count>;  ///< of LikeFactors, in their order

LikeFactors factors_of(const Logs& logs) {
  return {.convolutions = std::exp(logs[0]),
          .grouped = std::exp(logs[1]),
          .products = std::exp(logs[2]),
          .flash = std::exp(logs[3]),
          .memory = std::exp(logs[4])};
}

double factor_on(std::string_view work_class, const LikeFactors& factors) {
  if (!is_matrix(work_class)) return factors.memory;
  if (work_class == "grouped_conv") return factors.grouped;
  if (work_class == "flash_attention" || work_class == "cudnn_attention") return factors.flash;
  if (work_class.starts_with("linear") || work_class == "attention") return factors.products;
  return factors.convolutions;
}

/// One step of Gauss and Newton from `at`, slopes by differences.
/// A logarithm keeps near 0 unless jobs say otherwise: `prior` is one of 0.1 of a job's time
/// against one of 1 of a factor's.
Logs step_from(const HostTables& hosts, std::span<const TimedJob* const> jobs, const Logs& at) {
  constexpr double difference = 0.01;
  constexpr double prior = 0.01;
  std::array<std::array<double, factor_count + 1>, factor_count> system{};
  for (const TimedJob* job : jobs) {
    const auto residual = [&](const Logs& logs) {
      return std::log(predicted_time(hosts, *job, factors_of(logs)) / job->time);
    };
    const double here = residual(at);
    Logs slopes{};
    for (std::size_t i = 0; i < factor_count; ++i) {
      Logs moved = at;
      moved[i] += difference;
      slopes[i] = (residual(moved) - here) / difference;
    }
    for (std::size_t i = 0; i < factor_count; ++i) {
      for (std::size_t j = 0; j < factor_count; ++j) system[i][j] += slopes[i] * slopes[j];
      system[i][factor_count] -= slopes[i] * here;
    }
  }
  for (std::size_t i = 0; i < factor_count; ++i) {
    system[i][i] += prior;
    system[i][factor_count] -= prior * at[i];
  }
  for (std::size_t i = 0; i < factor_count; ++i) {  // positive definite: any pivot serves
    for (std::size_t row = 0; row < factor_count; ++row) {
      if (row == i) continue;
      const double times = system[row][i] / system[i][i];
      for (std::size_t j = i; j <= factor_count; ++j) system[row][j] -= times * system[i][j];
    }
  }
  Logs step{};
  for (std::size_t i = 0; i < factor_count; ++i) step[i] = system[i][factor_count] / system[i][i];
  return step;
}

}  // namespace

EfficiencyTable scaled(EfficiencyTable table, const LikeFactors& factors) {
  for (auto& [work_class, directed] : table) {
    const double factor = factor_on(work_class, factors);
    for (Efficiency* efficiency : {&directed.forward, &directed.backward}) {
      (is_matrix(work_class) ? efficiency->flops : efficiency->memory) *= factor;
    }
  }
  return table;
}

Seconds predicted_time(const HostTables& hosts, const TimedJob& job, const LikeFactors& factors) {
  GpuSpec gpu = job.gpu;
  EfficiencyTable& table = gpu.efficiency.at(executed_dtype(gpu, job.dtype));
  table = scaled(std::move(table), factors);
  const ComputeProfile profile =
      analytic_profile(hosts, job.model, gpu, job.batch, job.dtype, job.options);
  return job.with_optimizer ? profile.iteration : profile.iteration - profile.optimizer;
}

LikeFactors fit_factors(const HostTables& hosts, std::span<const TimedJob* const> jobs) {
  assert(!jobs.empty());
  constexpr int rounds = 8;
  constexpr double stride_most = 0.3;
  Logs at{};
  for (int round = 0; round < rounds; ++round) {
    const Logs step = step_from(hosts, jobs, at);
    for (std::size_t i = 0; i < factor_count; ++i) {
      at[i] += std::clamp(step[i], -stride_most, stride_most);
    }
  }
  return factors_of(at);
}

std::vector<TimedWork> timed_work(const HostTables& hosts, const ComputeProfile& recorded,
                                  const ModelDescription& model, const GpuSpec& gpu,
                                  bool channels_last) {
  AnalyticOptions options;
  options.channels_last = channels_last;
  const KernelSetting setting =
      kernel_setting(hosts, model, gpu, recorded.batch_per_gpu, recorded.dtype, options);
  const double bandwidth = gpu.memory_bandwidth.count() * gpu.memory_efficiency;
  std::vector<TimedWork> layers;
  Seconds sums;  // of gradients, before the layer that they stand in front of
  for (const ModelLayer& layer : model.layers) {
    const auto found = std::ranges::find(recorded.layers, layer.name, &LayerProfile::name);
    if (found == recorded.layers.end()) {
      const double bytes =
          setting.batch * layer.backward.elements * activation_bytes(setting.dtype);
      sums = Seconds{bytes / bandwidth};
      continue;
    }
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const bool forward = direction == Direction::forward;
      const Seconds time = forward ? found->forward : found->backward - sums;
      KernelWork work = kernel_work(layer, setting, direction);
      const Seconds launches = static_cast<double>(work.kernels) * gpu.kernel_overhead;
      if (time <= launches_worth * launches) continue;
      layers.push_back({model.name, std::move(work), direction, time});
    }
    sums = Seconds{0};
  }
  return layers;
}

std::vector<ClassFit> fit_classes(std::span<const TimedWork> layers, const GpuSpec& gpu,
                                  const std::string& dtype) {
  std::map<std::tuple<std::string, Direction>, Members> classes;
  for (const TimedWork& layer : layers) {
    classes[{std::string(layer.work.work_class), layer.direction}].push_back(&layer);
  }
  std::vector<ClassFit> fits;
  for (const auto& [key, members] : classes) {
    ClassSearch search(members, gpu, dtype);
    const Efficiency best = search.best();
    fits.push_back({std::get<0>(key), std::get<1>(key), best, members.size(),
                    std::sqrt(search.squares(best) / static_cast<double>(members.size()))});
  }
  return fits;
}

}  // namespace gradwire
