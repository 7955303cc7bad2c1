#pragma once

// Catch2 is version 2 on Debian 12 and version 3 on Ubuntu 24.04: tests include this header only.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace Catch {
using Matchers::ContainsSubstring;
using Matchers::Message;
}  // namespace Catch
#else
#include <catch2/catch.hpp>
namespace Catch {
inline auto ContainsSubstring(const std::string& text) {
  return Catch::Contains(text);
}  // NOLINT
}  // namespace Catch
#endif
