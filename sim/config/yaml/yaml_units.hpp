#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/units.hpp"

namespace gradwire::config {

/// A share, written in per cent: "1.5 %" is 0.015.
struct Ratio {
  double value = 0;
  auto operator<=>(const Ratio&) const = default;
};

/// Values that are allowed: `above` or at least `least`, at most `most`; absent ends are open.
template <class T>
struct Range {
  std::optional<T> above;
  std::optional<T> least;
  std::optional<T> most;
  std::string_view why{};  ///< of ends that nobody would guess, for the message; "": it is plain
};
/// A text may be any.
template <>
struct Range<std::string> {};
template <class T>
Range<T> above(T bound) {
  return {bound, {}, {}};
}
template <class T>
Range<T> at_least(T bound) {
  return {{}, bound, {}};
}
template <class T>
Range<T> between(T least, T most) {
  return {{}, least, most};
}

/// How a T is written in YAML, the one place that says so:
/// - std::string: any scalar, as written; bool: true | false
/// - int, std::int64_t, std::uint64_t, double: a bare, finite number
/// - Seconds: s, ms, us, ns; Bytes: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024)
/// - BytesPerSecond: B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s, Gbit/s, Tbit/s
/// - Hertz: MHz, GHz
/// - Watts: W, kW
/// - Ratio: %
/// A quantity without its unit is an error, and so is a negative one.
template <class T>
struct Written {
  static T read(const YamlValue& value, const std::string& name, const Range<T>& range);
  /// What it expects: "a time such as '20 us' (units s, ms, us, ns)".
  static std::string expected();
  /// The units that it may be written in; none for what is no quantity.
  static std::vector<std::string> units();
};

/// @param name  of the key, for the message.
/// @throws ConfigError at the value when it is no T, or outside `range`.
template <class T>
T read_value(const YamlValue& value, const std::string& name, const Range<T>& range = {}) {
  return Written<T>::read(value, name, range);
}

/// A quantity as a message shows it: "1", "0 s", "196.8 us" (a time in the largest unit of
/// which it is one or more), "533 MB/s" (likewise, of bytes), "25 MiB" (the largest unit that is
/// exact).
std::string bound_text(double bound);
std::string bound_text(Seconds bound);
std::string bound_text(Bytes bound);
std::string bound_text(BytesPerSecond bound);
std::string bound_text(Hertz bound);
std::string bound_text(Watts bound);
std::string bound_text(Ratio bound);

/// Any value that Written<T> reads as a message shows it; texts as they are.
template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return bound_text(static_cast<double>(value));
  } else {
    return bound_text(value);
  }
}

}  // namespace gradwire::config
