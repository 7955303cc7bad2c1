#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/error.hpp"

namespace gradwire {

/// The simulation cannot be carried out, and one key of the scenario is to blame. Thrown where
/// nobody knows files; who read the scenario adds the place, and then it is bad input (exit code
/// 3).
class UnsupportedConfiguration : public SimulationError {
 public:
  enum class Key : std::uint8_t { strategy, library, cluster, fidelity, profile };

  UnsupportedConfiguration(Key key, const std::string& message)
      : SimulationError(message), key_(key) {}

  [[nodiscard]] Key key() const { return key_; }
  [[nodiscard]] const std::optional<SourceLocation>& where() const { return where_; }
  void set_where(SourceLocation where) { where_ = std::move(where); }

 private:
  Key key_;
  std::optional<SourceLocation> where_;
};

}  // namespace gradwire
