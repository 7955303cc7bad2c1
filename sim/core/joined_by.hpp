#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

/// Texts, or numbers, with `separator` between them. (fmt::join compiles fmt's writers anew in each
/// source that calls it.)
[[nodiscard]] std::string joined_by(std::span<const std::string> texts, std::string_view separator);
[[nodiscard]] std::string joined_by(std::span<const std::string_view> texts,
                                    std::string_view separator);
[[nodiscard]] std::string joined_by(std::span<const std::int64_t> numbers,
                                    std::string_view separator);
[[nodiscard]] std::string joined_by(std::span<const int> numbers, std::string_view separator);

}  // namespace gradwire
