#include "calibration/import/decimal_time.hpp"

#include <charconv>
#include <cmath>

#include "calibration/trace/check_times.hpp"

namespace gradwire::calibration {
namespace {

constexpr Nanoseconds nanoseconds_max = instant_max;
constexpr Nanoseconds nanoseconds_per_microsecond = 1000;

/// "1.5e3": rare, and then a double will do.
std::optional<Nanoseconds> by_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  value *= static_cast<double>(nanoseconds_per_microsecond);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(std::abs(value) < static_cast<double>(nanoseconds_max))) {
    return std::nullopt;
  }
  return static_cast<Nanoseconds>(value);
}

}  // namespace

std::optional<Nanoseconds> nanoseconds_of(std::string_view microseconds) {
  std::int64_t whole = 0;
  const char* const begin = microseconds.data();
  const char* const stop = begin + microseconds.size();
  const auto [end, error] = std::from_chars(begin, stop, whole);
  if (error != std::errc{} || whole > nanoseconds_max / nanoseconds_per_microsecond ||
      whole < -nanoseconds_max / nanoseconds_per_microsecond) {
    return std::nullopt;
  }
  Nanoseconds fraction = 0;
  const char* at = end;
  if (at != stop && *at == '.') {
    Nanoseconds weight = nanoseconds_per_microsecond / 10;
    for (++at; at != stop && *at >= '0' && *at <= '9'; ++at, weight /= 10) {
      fraction += weight * (*at - '0');
    }
  }
  if (at != stop) return by_double(microseconds);
  const Nanoseconds exact = whole * nanoseconds_per_microsecond;
  return *begin == '-' ? exact - fraction : exact + fraction;
}

}  // namespace gradwire::calibration
