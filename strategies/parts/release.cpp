#include "strategies/parts/release.hpp"

#include <fmt/format.h>

#include <charconv>

namespace gradwire {

std::optional<Release> parse_release(std::string_view text) {
  Release release;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, release.major_number);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, release.minor_number);
  if (minor.ec != std::errc{} || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  return release;
}

Release read_release(Knobs& knobs, const std::string& name, const std::string& fallback,
                     const std::string& software, Release oldest, const std::string& source) {
  const std::string text = knobs.text(name, fallback, source);
  const auto release = parse_release(text);
  if (!release || *release < oldest) {
    knobs.refuse(name,
                 fmt::format("'{}' is '{}'; expected a {} release from {}.{} on, such as {}", name,
                             text, software, oldest.major_number, oldest.minor_number, fallback));
  }
  return *release;
}

}  // namespace gradwire
