#include "sim/core/joined_by.hpp"

#include <fmt/ranges.h>

namespace gradwire {

std::string joined_by(std::span<const std::string> texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string joined_by(std::span<const std::string_view> texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string joined_by(std::span<const std::int64_t> numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}

std::string joined_by(std::span<const int> numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}

}  // namespace gradwire
