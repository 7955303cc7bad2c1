#pragma once

#include <string>

namespace gradwire {

/// What the user should know before believing a result.
struct Warning {
  std::string code;  ///< "outside-calibrated-range"
  std::string text;

  bool operator==(const Warning&) const = default;
};

}  // namespace gradwire
