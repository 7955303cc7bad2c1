#pragma once

#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "strategies/knobs.hpp"

namespace gradwire::config {

struct StrategyEntry {
  std::string name;
  std::string summary;  ///< one line
  /// Reads the strategy's knobs.
  StrategyMaker (*read)(Knobs& knobs);
  bool servers = false;                     ///< it has parameter servers
  bool any_dtype = false;                   ///< its gradients may be of half precision
  std::vector<ParameterInfo> parameters{};  ///< what `read` asks for
};

/// Every strategy a scenario may name. To add one, add one line to strategy_catalogue.cpp.
[[nodiscard]] const std::vector<StrategyEntry>& strategy_catalogue();

/// The entry of a name, nullptr when there is none.
[[nodiscard]] const StrategyEntry* find_strategy(const std::string& name);

}  // namespace gradwire::config
