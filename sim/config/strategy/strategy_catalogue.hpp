#pragma once

#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/exactness.hpp"
#include "strategies/knobs.hpp"

namespace gradwire::config {

/// What a strategy has that others have not.
struct StrategyFlags {
  bool servers = false;     ///< parameter servers
  bool any_dtype = false;   ///< its gradients may be of half precision
  bool half_model = false;  ///< they are, in a profile of fp16 or bf16: its model is
};

struct StrategyEntry {
  std::string name;
  std::string summary;  ///< one line
  /// Reads the strategy's knobs.
  StrategyMaker (*read)(Knobs& knobs);
  StrategyFlags flags{};
  Exactness exactness{};              ///< with its knobs at their defaults
  std::vector<KeyInfo> parameters{};  ///< what `read` asks for
};

/// Keys that any strategy takes.
struct StrategyKeys {
  int grad_accumulation = 1;
  std::string gradient_dtype = "fp32";
};
[[nodiscard]] const Fields<StrategyKeys>& strategy_fields();

/// The keys of `strategy`.
[[nodiscard]] Section strategy_section();

/// Every strategy a scenario may name. To add one, add one line to strategy_catalogue.cpp.
[[nodiscard]] const std::vector<StrategyEntry>& strategy_catalogue();

/// The entry of a name, nullptr when there is none.
[[nodiscard]] const StrategyEntry* find_strategy(const std::string& name);

}  // namespace gradwire::config
