#pragma once

#include <array>
#include <cmath>
#include <string_view>

namespace gradwire {

/// How much shorter or longer a time may be than it is given, relative to it.
struct RelativeError {
  double low = 0;
  double high = 0;

  bool operator==(const RelativeError&) const = default;
};

/// Of two errors that do not depend on each other: the roots of their squares.
[[nodiscard]] inline RelativeError together(const RelativeError& a, const RelativeError& b) {
  return {.low = std::hypot(a.low, b.low), .high = std::hypot(a.high, b.high)};
}

/// How far compute times of a profile may be off, by where they come from. Read from
/// profiles/libraries/profile_errors.yaml, with its sources.
struct ProfileErrors {
  double recorded = 0;
  double imported = 0;
  double scaled = 0;    ///< counted from the model, and scaled to a rate of one GPU
  double derived = 0;   ///< of a file that states no error of its own
  double analytic = 0;  ///< the same
  /// Counted from the model: of convolutional networks in fp32 and TF32, and of others.
  RelativeError convolutions;
  RelativeError others;
  /// What a derivation adds to the error of what it starts from.
  double other_gpu = 0;
  double other_dtype = 0;
  double other_batch = 0;
  double between_batches = 0;  ///< of two recordings
};

/// Widths of the doubts of a prediction beside its profile's, relative (doubts.hpp). Read from
/// profiles/libraries/doubts.yaml, with its sources.
struct DoubtWidths {
  RelativeError several_gpus;  ///< of an iteration
  RelativeError machines;      ///< of the root of the doublings of one
  RelativeError exposed_tcp;   ///< of communication that compute does not hide, over TCP
  RelativeError exposed;       ///< and otherwise
  RelativeError hidden_tcp;    ///< of communication that it hides, over TCP
  RelativeError hidden;        ///< and otherwise
  RelativeError ports;         ///< of all communication through as many ports as nobody has stated
  RelativeError host;          ///< of what the host and copies add to the kernels
  /// Of the time of a collective, by where it is from.
  double cost_table = 0;
  double cost_fit = 0;
  double cost_model = 0;
};

/// A width of doubts.yaml by its name there.
struct DoubtWidth {
  std::string_view name;
  RelativeError DoubtWidths::*width;
};
/// Those that are fitted together, of shares of an iteration.
inline constexpr std::array<DoubtWidth, 8> doubt_widths = {
    {{"several_gpus", &DoubtWidths::several_gpus},
     {"machines", &DoubtWidths::machines},
     {"exposed_tcp", &DoubtWidths::exposed_tcp},
     {"exposed", &DoubtWidths::exposed},
     {"hidden_tcp", &DoubtWidths::hidden_tcp},
     {"hidden", &DoubtWidths::hidden},
     {"ports", &DoubtWidths::ports},
     {"host", &DoubtWidths::host}}};

}  // namespace gradwire
