#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradwire::calibration {

/// How long a demangled name may become: each back reference prints again what may itself hold
/// references, and three in each of n / 3 steps make most of n: 3^(n / 3) times the name's own
/// length; a pack's expansion repeats its pattern once for each of at most all letters.
/// @return an upper bound in bytes, infinite where it is beyond a double.
[[nodiscard]] double demangled_bound(std::string_view mangled);

/// The scope and name of a mangled template, its arguments left out: "at::native::kernel<...>" with
/// a check sum of the whole, so that two stay two; the name itself where it has no such form.
[[nodiscard]] std::string outline_of(std::string_view mangled);

/// Turns the linker's names of kernels ("_ZN2at6native...") into those of C++, at bounded cost:
/// what could become long is outlined (budgets symbol_bytes, demangled_bytes, demangler_bytes).
class KernelNames {
 public:
  [[nodiscard]] std::string readable(const std::string& name);

 private:
  std::size_t printed_ = 0;  ///< by the demangler
};

}  // namespace gradwire::calibration
