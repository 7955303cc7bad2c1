#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gradwire {

/// A place in an input file; line and column count from 1, 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

/// The user gave an input we cannot accept (exit code 3). The text reads `file:line:column: what is
/// wrong; what was expected; the nearest known name`; line and column only where the line is known.
/// Never thrown for our own bugs: those are assertions.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(SourceLocation where, const std::string& message);

  [[nodiscard]] const SourceLocation& where() const { return where_; }

 private:
  SourceLocation where_;
};

/// The input was accepted but the simulation cannot be carried out (exit code 1): a deadlock, with
/// the waiting operations named, or a size that the chosen fidelity refuses.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The known name nearest to `name` by edit distance, or "" when none is near enough to suggest
/// (more than a third of its letters differ). Upper case, dashes, underscores, points and blanks do
/// not count.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// "; did you mean 'x'?" for names that are `name` but for its spelling ("GPT-2"), go on from it
/// ("h100") or have its words ("H100-80GB"), else the nearest; or "".
[[nodiscard]] std::string suggestion(std::string_view name, std::span<const std::string> known);

}  // namespace gradwire
