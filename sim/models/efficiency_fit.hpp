#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// A recording's layer in one direction: what its kernels do, and how long they took.
struct TimedWork {
  std::string model;
  KernelWork work;
  Direction direction = Direction::forward;
  Seconds time;
};

/// The layers of `recorded` that `model` has, by name, with more than their launches in them. A sum
/// of gradients, which profilers count to the layer behind it, is taken off that layer at the
/// reachable bandwidth. REQUIRES: the two are of one model; `gpu` is the recording's.
[[nodiscard]] std::vector<TimedWork> timed_work(const HostTables& hosts,
                                                const ComputeProfile& recorded,
                                                const ModelDescription& model, const GpuSpec& gpu,
                                                bool channels_last = false);

/// The efficiency of one class of work in one direction.
struct ClassFit {
  std::string work_class;
  Direction direction = Direction::forward;
  Efficiency efficiency;
  std::size_t layers = 0;
  double rms = 0;  ///< of the logarithm of predicted over measured
};

/// Least squares of the logarithm over the layers of each class and direction: its shares of the
/// peak and of the memory, the latter 0 (hidden) where none fits better. Shares come out on a grid
/// of 2 %, which is finer than recordings repeat.
[[nodiscard]] std::vector<ClassFit> fit_classes(std::span<const TimedWork> layers,
                                                const GpuSpec& gpu, const std::string& dtype);

/// What a table of another generation or type is multiplied by.
struct LikeFactors {
  double convolutions = 1;  ///< the share of the peak, of convolutions but grouped ones
  double grouped = 1;       ///< the same of grouped ones
  double products = 1;      ///< the same of linear and attention
  double flash = 1;         ///< the same of flash_attention
  double memory = 1;        ///< the share of the memory, of classes that have no other
};
[[nodiscard]] EfficiencyTable scaled(EfficiencyTable table, const LikeFactors& factors);

/// A job whose time on one GPU was published.
struct TimedJob {
  ModelDescription model;
  GpuSpec gpu;
  int batch = 0;
  std::string dtype;
  AnalyticOptions options;
  bool with_optimizer = true;  ///< the time is a whole step's, else forward's and backward's
  Seconds time;
};

/// What analytic_profile() predicts for the time of a job, its GPU's table times `factors`.
[[nodiscard]] Seconds predicted_time(const HostTables& hosts, const TimedJob& job,
                                     const LikeFactors& factors);

/// The factors of least squares of the logarithm of predicted over published time; 1 where no job
/// says anything of one. REQUIRES: at least one job; all of one type.
[[nodiscard]] LikeFactors fit_factors(const HostTables& hosts,
                                      std::span<const TimedJob* const> jobs);

}  // namespace gradwire
