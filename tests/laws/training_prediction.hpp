#pragma once

#include <cstdint>
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
  double memory = 0;       ///< bytes, of the fullest GPU at its most; 0: not known
  bool warned = false;     ///< of a choice that NCCL itself makes badly

  // What is held of every prediction by itself.
  double parts = 0;        ///< s, sum of the parts that an iteration is made of
  double least_part = 0;   ///< s, the smallest of them, of either rank that is reported
  double optimizer = 0;    ///< s, of a rank's optimizer step, in an iteration
  double compute = 0;      ///< s, forward and backward on the slowest rank, by its speed
  double efficiency = 0;   ///< to so many times one GPU alone
  bool doubted = false;    ///< a warning says why not to believe it: of start, end, or steadiness
  double utilisation = 0;  ///< of the busiest link
  double least_used = 0;   ///< utilisation of the idlest link that is reported
  double sent = 0;         ///< bytes, by the rank that sends the most, in an iteration
  double must_send =
      0;  ///< bytes, the least that it can where all gradients are added over all ranks
  std::uint64_t digest = 0;  ///< of the result's JSON, but for the time that the run took

  [[nodiscard]] double rate() const { return samples / iteration; }
};

/// Predicts a scenario in a process of its own: one run of SimGrid is all that a process can have,
/// and a crash is a finding. @return nothing where the scenario is refused (exit code 3).
/// @throws std::runtime_error with the scenario where the process ended otherwise.
[[nodiscard]] std::optional<Prediction> predict(const std::string& yaml);

}  // namespace gradwire::laws
