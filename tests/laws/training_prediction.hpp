#pragma once

#include <optional>
#include <string>

namespace gradwire::laws {

/// What laws speak about.
struct Prediction {
  double iteration = 0;    ///< s, mean of the measured ones (of independent workers: of all)
  double alone = 0;        ///< s, of one GPU without communication
  double samples = 0;      ///< of all ranks in an iteration
  double collectives = 0;  ///< operations an iteration
  double own_work = 0;     ///< s, of the strategy's copies, coding and host, in an iteration
  bool warned = false;     ///< of a choice that NCCL itself makes badly

  [[nodiscard]] double rate() const { return samples / iteration; }
};

/// Predicts a scenario in a process of its own: one run of SimGrid is all that a process can have,
/// and a crash is a finding. @return nothing where the scenario is refused (exit code 3).
/// @throws std::runtime_error with the scenario where the process ended otherwise.
[[nodiscard]] std::optional<Prediction> predict(const std::string& yaml);

}  // namespace gradwire::laws
