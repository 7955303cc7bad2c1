#include "sim/config/yaml/yaml_units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace gradwire::config {
namespace {

struct Unit {
  std::string_view name;
  double scale;  ///< base units
};
constexpr auto time_units =
    std::to_array<Unit>({{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
constexpr double ki = 1024;
constexpr auto size_units = std::to_array<Unit>({{"B", 1},
                                                 {"kB", 1e3},
                                                 {"MB", 1e6},
                                                 {"GB", 1e9},
                                                 {"KiB", ki},
                                                 {"MiB", ki* ki},
                                                 {"GiB", ki* ki* ki}});
constexpr auto rate_units = std::to_array<Unit>({{"B/s", 1},
                                                 {"kB/s", 1e3},
                                                 {"MB/s", 1e6},
                                                 {"GB/s", 1e9},
                                                 {"KiB/s", ki},
                                                 {"MiB/s", ki* ki},
                                                 {"GiB/s", ki* ki* ki},
                                                 {"kbit/s", 1e3 / 8},
                                                 {"Mbit/s", 1e6 / 8},
                                                 {"Gbit/s", 1e9 / 8},
                                                 {"Tbit/s", 1e12 / 8}});
constexpr auto clock_units = std::to_array<Unit>({{"MHz", 1e6}, {"GHz", 1e9}});
constexpr auto power_units = std::to_array<Unit>({{"W", 1}, {"kW", 1e3}});
constexpr auto ratio_units = std::to_array<Unit>({{"%", 1e-2}});

/// Sizes above this do not fit the integer that holds them (and no transfer comes near).
constexpr double size_max = 4e18;
/// Eleven days: no iteration comes near, and sums of such times stay finite.
constexpr Seconds time_max{1e6};

std::vector<std::string> names_of(std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) names.emplace_back(unit.name);
  return names;
}

std::string unit_list(std::span<const Unit> units) {
  return fmt::format("{}", fmt::join(names_of(units), ", "));
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "Gb/s" and "Gbps" mean bits on a network card's label: point at Gbit/s, never at GB/s.
std::string bits_spelt_out(std::string unit) {
  for (const std::string_view ending : {"bps", "b/s"}) {
    if (unit.size() == ending.size() + 1 && unit.ends_with(ending)) {
      return unit.substr(0, 1) + "bit/s";
    }
  }
  return unit;
}

std::string unit_suggestion(const std::string& unit, std::span<const Unit> units) {
  const std::vector<std::string> names = names_of(units);
  const std::string wanted = bits_spelt_out(unit);
  for (const auto& name : names) {
    // A size where a rate belongs: "25 GB".
    const bool same = lower_case(name) == lower_case(wanted);
    if (same || lower_case(name) == lower_case(wanted + "/s")) {
      return fmt::format("; did you mean '{}'?", name);
    }
  }
  return suggestion(wanted, names);
}

[[noreturn]] void fail(const YamlValue& value, const std::string& name, std::string_view why,
                       const std::string& what_is_expected) {
  throw ConfigError(value.where, fmt::format("'{}' is {}{}; expected {}", name, describe(value),
                                             why, what_is_expected));
}

/// Reads "<number> <unit>" into base units. A bare number is refused: it would be a guess.
template <class T>
double read_quantity(const YamlValue& value, const std::string& name, std::span<const Unit> units) {
  if (value.kind != YamlValue::Kind::scalar) fail(value, name, "", expected<T>());
  const char* end = value.text.data() + value.text.size();
  double number = 0;
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::invalid_argument) fail(value, name, "", expected<T>());
  if (error != std::errc{} || !std::isfinite(number)) {
    fail(value, name, ", not a finite number", expected<T>());
  }
  if (std::signbit(number) && number != 0) fail(value, name, ", negative", expected<T>());
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty()) fail(value, name, ", without a unit", expected<T>());
  const auto known = std::ranges::find(units, std::string_view(unit), &Unit::name);
  if (known == units.end()) {
    fail(value, name, fmt::format(", unknown unit '{}'", unit),
         expected<T>() + unit_suggestion(unit, units));
  }
  return number * known->scale;
}

/// Reads a bare number: all of the text, nothing else.
template <class T>
T read_number(const YamlValue& value, const std::string& name) {
  T number{};
  const char* end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::result_out_of_range && rest == end) {
    fail(value, name, ", too large", expected<T>());
  }
  if (value.kind != YamlValue::Kind::scalar || error != std::errc{} || rest != end) {
    fail(value, name, "", expected<T>());
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) fail(value, name, ", not a finite number", expected<T>());
  }
  return number;
}

}  // namespace

template <>
std::string expected<std::string>() {
  return "text";
}
template <>
std::string expected<bool>() {
  return "true or false";
}
template <>
std::string expected<int>() {
  return "a whole number";
}
template <>
std::string expected<std::int64_t>() {
  return "a whole number";
}
template <>
std::string expected<std::uint64_t>() {
  return "a whole number, at least 0";
}
template <>
std::string expected<double>() {
  return "a number";
}
template <>
std::string expected<Seconds>() {
  return fmt::format("a time such as '20 us' (units {})", unit_list(time_units));
}
template <>
std::string expected<Bytes>() {
  return fmt::format("a size such as '25 MiB' (units {})", unit_list(size_units));
}
template <>
std::string expected<BytesPerSecond>() {
  return fmt::format("a rate such as '10 Gbit/s' (units {})", unit_list(rate_units));
}
template <>
std::string expected<Hertz>() {
  return fmt::format("a clock such as '1410 MHz' (units {})", unit_list(clock_units));
}
template <>
std::string expected<Watts>() {
  return fmt::format("a power such as '300 W' (units {})", unit_list(power_units));
}
template <>
std::string expected<Ratio>() {
  return "a share such as '1.5 %'";
}

template <>
std::string read_value<std::string>(const YamlValue& value, const std::string& name) {
  if (value.kind != YamlValue::Kind::scalar) fail(value, name, "", expected<std::string>());
  return value.text;
}
template <>
bool read_value<bool>(const YamlValue& value, const std::string& name) {
  const bool yes = value.text == "true";
  if (!yes && value.text != "false") fail(value, name, "", expected<bool>());
  return yes;
}
template <>
int read_value<int>(const YamlValue& value, const std::string& name) {
  return read_number<int>(value, name);
}
template <>
std::int64_t read_value<std::int64_t>(const YamlValue& value, const std::string& name) {
  return read_number<std::int64_t>(value, name);
}
template <>
std::uint64_t read_value<std::uint64_t>(const YamlValue& value, const std::string& name) {
  return read_number<std::uint64_t>(value, name);
}
template <>
double read_value<double>(const YamlValue& value, const std::string& name) {
  return read_number<double>(value, name);
}
template <>
Seconds read_value<Seconds>(const YamlValue& value, const std::string& name) {
  const Seconds time{read_quantity<Seconds>(value, name, time_units)};
  if (time > time_max) {
    fail(value, name, ", too long", expected<Seconds>() + ", at most " + bound_text(time_max));
  }
  return time;
}
template <>
Bytes read_value<Bytes>(const YamlValue& value, const std::string& name) {
  const double count = read_quantity<Bytes>(value, name, size_units);
  if (count > size_max) fail(value, name, ", too large", expected<Bytes>());
  return Bytes{std::llround(count)};
}
template <>
BytesPerSecond read_value<BytesPerSecond>(const YamlValue& value, const std::string& name) {
  return BytesPerSecond{read_quantity<BytesPerSecond>(value, name, rate_units)};
}
template <>
Hertz read_value<Hertz>(const YamlValue& value, const std::string& name) {
  return Hertz{read_quantity<Hertz>(value, name, clock_units)};
}
template <>
Watts read_value<Watts>(const YamlValue& value, const std::string& name) {
  return Watts{read_quantity<Watts>(value, name, power_units)};
}
template <>
Ratio read_value<Ratio>(const YamlValue& value, const std::string& name) {
  return Ratio{read_quantity<Ratio>(value, name, ratio_units)};
}

template <class T>
std::vector<std::string> unit_names() {
  if constexpr (std::is_same_v<T, Seconds>) return names_of(time_units);
  if constexpr (std::is_same_v<T, Bytes>) return names_of(size_units);
  if constexpr (std::is_same_v<T, BytesPerSecond>) return names_of(rate_units);
  if constexpr (std::is_same_v<T, Hertz>) return names_of(clock_units);
  if constexpr (std::is_same_v<T, Watts>) return names_of(power_units);
  if constexpr (std::is_same_v<T, Ratio>) return names_of(ratio_units);
  return {};
}
template std::vector<std::string> unit_names<std::string>();
template std::vector<std::string> unit_names<bool>();
template std::vector<std::string> unit_names<int>();
template std::vector<std::string> unit_names<std::int64_t>();
template std::vector<std::string> unit_names<std::uint64_t>();
template std::vector<std::string> unit_names<double>();
template std::vector<std::string> unit_names<Seconds>();
template std::vector<std::string> unit_names<Bytes>();
template std::vector<std::string> unit_names<BytesPerSecond>();
template std::vector<std::string> unit_names<Hertz>();
template std::vector<std::string> unit_names<Watts>();
template std::vector<std::string> unit_names<Ratio>();

std::string bound_text(double bound) {
  return fmt::format("{:.15g}", bound);
}
std::string bound_text(Seconds bound) {
  return fmt::format("{:.15g} s", bound.count());
}
std::string bound_text(Bytes bound) {
  const Unit* best = size_units.data();
  for (const auto& unit : size_units) {
    const bool exact = bound.count() % static_cast<std::int64_t>(unit.scale) == 0;
    if (exact && bound.count() != 0 && unit.scale > best->scale) best = &unit;
  }
  return fmt::format("{} {}", bound.count() / static_cast<std::int64_t>(best->scale), best->name);
}
std::string bound_text(BytesPerSecond bound) {
  return fmt::format("{:.15g} B/s", bound.count());
}
std::string bound_text(Hertz bound) {
  return fmt::format("{:.15g} MHz", bound.count() * 1e-6);
}
std::string bound_text(Watts bound) {
  return fmt::format("{:.15g} W", bound.count());
}
std::string bound_text(Ratio bound) {
  return fmt::format("{:.15g} %", bound.value * 100);
}

template <class T>
void check_range(const T& number, const Range<T>& range, const YamlValue& value,
                 const std::string& name) {
  const bool low =
      (range.above && !(number > *range.above)) || (range.least && !(number >= *range.least));
  const bool high = range.most && !(number <= *range.most);
  if (!low && !high) return;
  const auto text = [](const T& bound) {
    if constexpr (std::is_arithmetic_v<T>) {
      return bound_text(static_cast<double>(bound));
    } else {
      return bound_text(bound);
    }
  };
  std::string bounds;
  if (range.above) bounds += fmt::format(", above {}", text(*range.above));
  if (range.least) bounds += fmt::format(", at least {}", text(*range.least));
  if (range.most) bounds += fmt::format(", at most {}", text(*range.most));
  fail(value, name, "", expected<T>() + bounds);
}
template void check_range(const int&, const Range<int>&, const YamlValue&, const std::string&);
template void check_range(const std::int64_t&, const Range<std::int64_t>&, const YamlValue&,
                          const std::string&);
template void check_range(const std::uint64_t&, const Range<std::uint64_t>&, const YamlValue&,
                          const std::string&);
template void check_range(const double&, const Range<double>&, const YamlValue&,
                          const std::string&);
template void check_range(const Seconds&, const Range<Seconds>&, const YamlValue&,
                          const std::string&);
template void check_range(const Bytes&, const Range<Bytes>&, const YamlValue&, const std::string&);
template void check_range(const BytesPerSecond&, const Range<BytesPerSecond>&, const YamlValue&,
                          const std::string&);
template void check_range(const Hertz&, const Range<Hertz>&, const YamlValue&, const std::string&);
template void check_range(const Watts&, const Range<Watts>&, const YamlValue&, const std::string&);
template void check_range(const Ratio&, const Range<Ratio>&, const YamlValue&, const std::string&);

}  // namespace gradwire::config
