#include "sim/config/yaml/yaml_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "sim/core/joined_by.hpp"

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
constexpr double size_limit = 4e18;
/// Eleven days: no iteration comes near, and sums of such times stay finite.
constexpr Seconds time_max{1e6};

std::vector<std::string> names_of(std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) names.emplace_back(unit.name);
  return names;
}

/// What messages say of a T, and its units; none: it is no quantity.
struct Form {
  std::string_view words;
  std::span<const Unit> units{};
};
template <class T>
Form form_of() {
  if constexpr (std::is_same_v<T, std::string>) return {"text"};
  if constexpr (std::is_same_v<T, bool>) return {"true or false"};
  if constexpr (std::is_same_v<T, std::uint64_t>) return {"a whole number, at least 0"};
  if constexpr (std::is_integral_v<T>) return {"a whole number"};
  if constexpr (std::is_floating_point_v<T>) return {"a number"};
  if constexpr (std::is_same_v<T, Seconds>) return {"a time such as '20 us'", time_units};
  if constexpr (std::is_same_v<T, Bytes>) return {"a size such as '25 MiB'", size_units};
  if constexpr (std::is_same_v<T, BytesPerSecond>)
    return {"a rate such as '10 Gbit/s'", rate_units};
  if constexpr (std::is_same_v<T, Hertz>) return {"a clock such as '1410 MHz'", clock_units};
  if constexpr (std::is_same_v<T, Watts>) return {"a power such as '300 W'", power_units};
  if constexpr (std::is_same_v<T, Ratio>) return {"a share such as '1.5 %'", ratio_units};
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

/// 010 is 8 to YAML 1.1 and 10 to YAML 1.2.
template <class T>
void refuse_octal(const YamlValue& value, const std::string& name) {
  const std::string_view text = value.text;
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0, 2);
  if (digits.size() < 2 || digits[0] != '0' || digits[1] < '0' || digits[1] > '9') return;
  fail(value, name, ", with a zero in front, which is octal to some", Written<T>::expected());
}

/// Reads "<number> <unit>" into base units. A bare number is refused: it would be a guess.
template <class T>
double read_quantity(const YamlValue& value, const std::string& name) {
  const std::span<const Unit> units = form_of<T>().units;
  if (value.kind != YamlValue::Kind::scalar) fail(value, name, "", Written<T>::expected());
  const char* end = value.text.data() + value.text.size();
  double number = 0;
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::invalid_argument) fail(value, name, "", Written<T>::expected());
  if (error != std::errc{} || !std::isfinite(number)) {
    fail(value, name, ", not a finite number", Written<T>::expected());
  }
  refuse_octal<T>(value, name);
  if (std::signbit(number) && number != 0) fail(value, name, ", negative", Written<T>::expected());
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty()) fail(value, name, ", without a unit", Written<T>::expected());
  const auto known = std::ranges::find(units, std::string_view(unit), &Unit::name);
  if (known == units.end()) {
    fail(value, name, fmt::format(", unknown unit '{}'", unit),
         Written<T>::expected() + unit_suggestion(unit, units));
  }
  const double in_base_units = number * known->scale;
  if (!std::isfinite(in_base_units)) fail(value, name, ", too large", Written<T>::expected());
  return in_base_units;
}

/// Reads a bare number: all of the text, nothing else.
template <class T>
T read_number(const YamlValue& value, const std::string& name) {
  T number{};
  const char* end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::result_out_of_range && rest == end) {
    fail(value, name, ", too large", Written<T>::expected());
  }
  if (value.kind != YamlValue::Kind::scalar || error != std::errc{} || rest != end) {
    fail(value, name, "", Written<T>::expected());
  }
  refuse_octal<T>(value, name);
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) fail(value, name, ", not a finite number", Written<T>::expected());
  }
  return number;
}

template <class T>
T read_unbounded(const YamlValue& value, const std::string& name) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (value.kind != YamlValue::Kind::scalar) fail(value, name, "", Written<T>::expected());
    return value.text;
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool yes = value.text == "true";
    if (!yes && value.text != "false") fail(value, name, "", Written<T>::expected());
    return yes;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return read_number<T>(value, name);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    const double count = read_quantity<T>(value, name);
    if (count > size_limit) fail(value, name, ", too large", Written<T>::expected());
    return Bytes{std::llround(count)};
  } else {
    return T{read_quantity<T>(value, name)};
  }
}

/// What messages add of a range: ", at least 1, at most 64 (why)".
template <class T>
std::string bounds_of(const Range<T>& range) {
  std::string bounds;
  if (range.above) bounds += fmt::format(", above {}", value_text(*range.above));
  if (range.least) bounds += fmt::format(", at least {}", value_text(*range.least));
  if (range.most) bounds += fmt::format(", at most {}", value_text(*range.most));
  if (!range.why.empty()) bounds += fmt::format(" ({})", range.why);
  return bounds;
}

}  // namespace

template <class T>
T Written<T>::read(const YamlValue& value, const std::string& name,
                   [[maybe_unused]] const Range<T>& range) {
  T read = read_unbounded<T>(value, name);
  if constexpr (std::is_same_v<T, Seconds>) {
    if (read > time_max) {
      fail(value, name, ", too long", expected() + ", at most " + bound_text(time_max));
    }
  }
  if constexpr (!std::is_same_v<T, std::string>) {
    const bool low =
        (range.above && !(read > *range.above)) || (range.least && !(read >= *range.least));
    if (low || (range.most && !(read <= *range.most))) {
      fail(value, name, "", expected() + bounds_of(range));
    }
  }
  return read;
}
template <class T>
std::string Written<T>::expected() {
  const Form form = form_of<T>();
  if (form.units.size() < 2) return std::string(form.words);
  return fmt::format("{} (units {})", form.words, joined_by(units(), ", "));
}

template <class T>
std::vector<std::string> Written<T>::units() {
  return names_of(form_of<T>().units);
}

template struct Written<std::string>;
template struct Written<bool>;
template struct Written<int>;
template struct Written<std::int64_t>;
template struct Written<std::uint64_t>;
template struct Written<double>;
template struct Written<Seconds>;
template struct Written<Bytes>;
template struct Written<BytesPerSecond>;
template struct Written<Hertz>;
template struct Written<Watts>;
template struct Written<Ratio>;

std::string bound_text(double bound) {
  return fmt::format("{:.15g}", bound);
}
std::string bound_text(Seconds bound) {
  constexpr double rounding = 1e-12;
  const auto* unit = time_units.data();
  const auto* const least = unit + time_units.size() - 1;
  if (bound > Seconds{0}) {
    while (unit != least && bound.count() < unit->scale * (1 - rounding)) ++unit;
  }
  return fmt::format("{:.12g} {}", bound.count() / unit->scale, unit->name);
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
  const Unit* best = rate_units.data();
  for (const auto& unit : std::span(rate_units).first<4>()) {  // of bytes, by 1000
    if (bound.count() >= unit.scale) best = &unit;
  }
  return fmt::format("{:.12g} {}", bound.count() / best->scale, best->name);
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

}  // namespace gradwire::config
