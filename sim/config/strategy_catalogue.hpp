#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml_map.hpp"
#include "strategies/strategy.hpp"

namespace gradwire::config {

/// Builds a strategy for a job; every knob has been read and checked before.
using StrategyMaker = std::function<std::unique_ptr<Strategy>(const JobView&)>;

struct StrategyEntry {
  std::string name;
  std::string summary;  ///< one line
  std::vector<ParameterInfo> parameters;
  /// Reads the knobs of the `strategy:` mapping; the caller has read `name` and calls finish().
  StrategyMaker (*read)(YamlMap& map);
};

/// Every strategy a scenario may name. To add one, add one line to strategy_catalogue.cpp.
[[nodiscard]] const std::vector<StrategyEntry>& strategy_catalogue();

/// The entry of a name, nullptr when there is none.
[[nodiscard]] const StrategyEntry* find_strategy(const std::string& name);

}  // namespace gradwire::config
