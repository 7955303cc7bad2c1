#pragma once

#include <string>

namespace gradwire {

/// A strategy that may have chosen its own knobs for the job.
class TunedKnobs {
 public:
  virtual ~TunedKnobs() = default;

  /// "Horovod's autotune chose ..."; "" where nothing was chosen.
  [[nodiscard]] virtual std::string tuned() const = 0;
};

}  // namespace gradwire
