#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace gradwire::calibration {

/// gethostname(): a container has one of its own. Empty where the system tells none.
[[nodiscard]] inline std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// This machine's part of a recording's file name: host_name() up to its first dot, at most 64
/// letters and digits, others as '-', which any file system takes. Two machines may use the same
/// number of a process.
[[nodiscard]] inline std::string host_part() {
  constexpr std::size_t letters_max = 64;
  std::string host = host_name();
  host.resize(std::min({host.size(), host.find('.'), letters_max}));
  for (char& letter : host) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x80 || std::isalnum(byte) == 0) letter = '-';
  }
  return host.empty() ? "host" : host;
}

}  // namespace gradwire::calibration
