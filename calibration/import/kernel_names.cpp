#include "calibration/import/kernel_names.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>

#include "calibration/capture/inject/crc32.hpp"
#include "sim/core/budgets.hpp"

namespace gradwire::calibration {
namespace {

/// Letters of a number behind 'S' or 'T', in base 36.
constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// What one name may make the demangler print.
constexpr double one_name_max = 4.0 * (1U << 20U);

}  // namespace

double demangled_bound(std::string_view mangled) {
  constexpr double letters_of_one = 8;  // "m" is "unsigned long", and most are themselves
  double references = 0;
  double expansions = 0;
  for (std::size_t at = 0; at + 1 < mangled.size(); ++at) {
    if (mangled[at] == 'S' || mangled[at] == 'T') {
      const std::size_t end = mangled.find_first_not_of(digits, at + 1);
      if (end != std::string_view::npos && mangled[end] == '_') ++references;
    }
    if (mangled[at] == 'D' && mangled[at + 1] == 'p') ++expansions;
  }
  const auto length = static_cast<double>(mangled.size());
  return letters_of_one * length * std::pow(3.0, references / 3) * std::pow(length, expansions);
}

std::string outline_of(std::string_view mangled) {
  constexpr std::string_view nested = "_ZN";
  std::string outline;
  const bool scoped = mangled.starts_with(nested);  // else what follows the name are parameters
  std::size_t at = scoped ? nested.size() : 2;
  while (at < mangled.size() && (scoped || outline.empty())) {
    std::size_t length = 0;
    const auto [end, error] =
        std::from_chars(mangled.data() + at, mangled.data() + mangled.size(), length);
    const auto begin = static_cast<std::size_t>(end - mangled.data());
    if (error != std::errc{} || length == 0 || length > mangled.size() - begin) break;
    outline += fmt::format("{}{}", outline.empty() ? "" : "::", mangled.substr(begin, length));
    at = begin + length;
  }
  if (outline.empty()) return std::string(mangled);
  const std::span<const char> letters(mangled);
  return fmt::format("{}<... {:08x}>", outline, crc32(std::as_bytes(letters)));
}

std::string KernelNames::readable(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  if (name.size() > symbol_bytes.most || demangled_bound(name) > one_name_max ||
      printed_ > demangler_bytes.most) {
    return outline_of(name);
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return name;
  std::string demangled = text.get();
  printed_ += demangled.size();
  return demangled.size() <= demangled_bytes.most ? demangled : outline_of(name);
}

}  // namespace gradwire::calibration
