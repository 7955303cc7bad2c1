#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "strategies/knobs.hpp"

namespace gradwire {

/// A release of the software that a strategy follows: what it does depends on it.
struct Release {
  int major_number = 1;
  int minor_number = 7;
  auto operator<=>(const Release&) const = default;
};

/// "1.4" or "1.4.0" -> {1, 4}; nothing when the text is not a release.
[[nodiscard]] std::optional<Release> parse_release(std::string_view text);

/// The knob `name`: a release of `software`; refused where it is none or before `oldest`.
[[nodiscard]] Release read_release(Knobs& knobs, const std::string& name,
                                   const std::string& fallback, const std::string& software,
                                   Release oldest, const std::string& source);

}  // namespace gradwire
