#pragma once

#include <functional>
#include <string>

#include "strategies/horovod/horovod_options.hpp"

namespace gradwire {

/// HOROVOD_AUTOTUNE and what it may not change.
struct AutotuneOptions {
  bool on = false;
  int steps_per_sample = 10;            ///< HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE
  int bayes_opt_max_samples = 20;       ///< HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES
  bool fusion_threshold_fixed = false;  ///< somebody set it
  bool cycle_time_fixed = false;
  bool cache_fixed = false;
};

/// What the tuner settles on.
struct Autotuned {
  HorovodOptions options;
  double score = 0;  ///< bytes of gradients a microsecond
  int samples = 0;
};

/// Bytes of gradients that are reduced in a microsecond under these knobs.
using AutotuneScore = std::function<double(const HorovodOptions&)>;

/// Horovod's search for fusion threshold (0 to 64 MiB) and cycle time (1 to 100 ms), once without
/// and once with the response cache: four fixed points first, (4 MiB, 5 ms), (32, 50), (16, 25),
/// (8, 10), then each time where a Gaussian process of the scores expects the greatest improvement,
/// bayes_opt_max_samples + 1 samples in all; the best score wins, of equal ones the first. What is
/// fixed keeps its value. The defaults of the knobs (128 MiB and 1 ms since 0.21) are none of the
/// points: their score is 0 until the first sample takes their place.
///
/// Horovod climbs to that point from 25 random ones; here it is the best of a grid of 1 MiB and 1
/// ms, so that the search is the same every time. It tries hierarchical and torus all-reduce, too;
/// here the job's way of reducing stays.
///
/// Source: Horovod common/parameter_manager.cc, common/optim/bayesian_optimization.cc.
[[nodiscard]] Autotuned autotune(const HorovodOptions& options, const AutotuneOptions& tuning,
                                 const AutotuneScore& score);

/// "fusion_threshold 32 MiB, cycle_time 5 ms, cache on (42 samples)".
[[nodiscard]] std::string text_of(const Autotuned& tuned);

/// Reads `autotune` and its knobs; those of the core have been read.
[[nodiscard]] AutotuneOptions read_autotune(Knobs& knobs);

}  // namespace gradwire
