#pragma once

#include <map>
#include <set>
#include <string>

namespace gradwire::validation {

/// Data file -> series of `gradwire validate` whose scenarios read it.
using ConstantUses = std::map<std::string, std::set<std::string>>;

/// Reads a scenario of each way to train in each group of every series, and predicts none.
/// @throws ConfigError at the place in a file.
[[nodiscard]] ConstantUses constant_uses();

}  // namespace gradwire::validation
