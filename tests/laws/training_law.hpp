#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/laws/training_job.hpp"
#include "tests/laws/training_prediction.hpp"

namespace gradwire::laws {

/// What holds for any job and the same job with one thing changed.
struct Law {
  std::string name;
  std::vector<std::string> strategies;
  /// The other job; nothing where the law says nothing of this one. A job may be put right first:
  /// what is changed in it stands for both.
  std::function<std::optional<TrainingJob>(TrainingJob& job)> change;
  /// What of the two predictions must not exceed `slack`: how far the law is broken, relative.
  std::function<double(const Prediction& before, const Prediction& after)> excess;
  double slack = 0.02;  ///< the 2 % below which a user sees no difference
  /// A collective that NCCL itself chooses badly may break it: where the run that is too slow warns
  /// of that.
  bool excused_by_choice = true;
};

/// The later job may not take longer.
[[nodiscard]] double slower(const Prediction& before, const Prediction& after);
/// The later job may not take less time.
[[nodiscard]] double faster(const Prediction& before, const Prediction& after);
/// Neither.
[[nodiscard]] double different(const Prediction& before, const Prediction& after);

/// Checks that no job breaks the law (those that do are told shrunk, as a user would read them) and
/// that NCCL's own choice excuses few.
/// @param cases  random jobs that the law says something of; GRADWIRE_LAW_CASES multiplies them.
void check(const Law& law, int cases, std::uint64_t seed);

}  // namespace gradwire::laws
