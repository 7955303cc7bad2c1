#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

/// Relative standard deviations. `rank` is the static spread of speed between GPUs of one type;
/// `iteration` and `layer` vary from iteration to iteration.
struct JitterSpec {
  double rank = 0;
  double several_gpus = 0;  ///< compute of ranks whose machine has others takes 1 + this as long
  double iteration = 0;
  std::optional<double> layer{};  ///< absent: each layer's own, from the profile
  double message = 0;             ///< of asynchronous workers: a message's time
};

/// Ranks whose compute takes `compute` times as long.
struct StragglerSpec {
  std::vector<int> ranks;  ///< explicit, or
  double fraction = 0;     ///< of the ranks, at least one unless 0; chosen by the seed
  double compute = 1;
};

/// Ranks whose data end early: they have inputs for the first `iterations` of a run, warm-up
/// included.
struct InputSpec {
  std::vector<int> ranks;
  int iterations = 1;
};

struct RunSpec {
  int iterations = 50;  ///< measured ones
  int warmup = 5;       ///< dropped
  std::uint64_t seed = 1;
  /// Where a strategy has phases (a warm-up, a switch): iterations from the first one, however many
  /// phases that are; false: those of the phase that lasts, `warmup` ones before it dropped.
  bool all_phases = false;
  /// Asynchronous workers begin spread over an iteration, as after a long run, where
  /// nothing keeps them together; false: all at once.
  bool start_apart = true;
  std::string fidelity = "auto";  ///< auto | fluid | step | coupled | bracket
  bool ignore_memory = false;     ///< predicts what does not fit a GPU's memory, too
  double input_rate = 0;  ///< samples/s of a machine's input pipeline; 0: as many as GPUs take
};

}  // namespace gradwire
