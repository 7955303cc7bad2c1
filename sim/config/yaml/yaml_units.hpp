#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
};
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
///
/// @param name  of the key, for the message.
/// @throws ConfigError at the value.
template <class T>
T read_value(const YamlValue& value, const std::string& name);

/// What read_value<T> expects: "a time such as '20 us' (units s, ms, us, ns)".
template <class T>
std::string expected();

template <>
std::string expected<std::string>();
template <>
std::string expected<bool>();
template <>
std::string expected<int>();
template <>
std::string expected<std::int64_t>();
template <>
std::string expected<std::uint64_t>();
template <>
std::string expected<double>();
template <>
std::string expected<Seconds>();
template <>
std::string expected<Bytes>();
template <>
std::string expected<BytesPerSecond>();
template <>
std::string expected<Hertz>();
template <>
std::string expected<Watts>();
template <>
std::string expected<Ratio>();
template <>
std::string read_value(const YamlValue& value, const std::string& name);
template <>
bool read_value(const YamlValue& value, const std::string& name);
template <>
int read_value(const YamlValue& value, const std::string& name);
template <>
std::int64_t read_value(const YamlValue& value, const std::string& name);
template <>
std::uint64_t read_value(const YamlValue& value, const std::string& name);
template <>
double read_value(const YamlValue& value, const std::string& name);
template <>
Seconds read_value(const YamlValue& value, const std::string& name);
template <>
Bytes read_value(const YamlValue& value, const std::string& name);
template <>
BytesPerSecond read_value(const YamlValue& value, const std::string& name);
template <>
Hertz read_value(const YamlValue& value, const std::string& name);
template <>
Watts read_value(const YamlValue& value, const std::string& name);
template <>
Ratio read_value(const YamlValue& value, const std::string& name);

/// The units that a T may be written in; none for what is no quantity.
template <class T>
std::vector<std::string> unit_names();

/// A quantity as a message shows it: "1", "0 s", "25 MiB" (the largest unit that is exact).
std::string bound_text(double bound);
std::string bound_text(Seconds bound);
std::string bound_text(Bytes bound);
std::string bound_text(BytesPerSecond bound);
std::string bound_text(Hertz bound);
std::string bound_text(Watts bound);
std::string bound_text(Ratio bound);

/// @throws ConfigError at `value` when `number`, read from it, is outside `range`.
template <class T>
void check_range(const T& number, const Range<T>& range, const YamlValue& value,
                 const std::string& name);

}  // namespace gradwire::config
