#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// The settings of an original system's run: what `strategy: {preset: NAME}` stands for.
struct Preset {
  std::string name;     ///< "ddl_benchmarks/WFBP-A2A"
  std::string summary;  ///< one line
  std::string source;   ///< where the settings are from
  YamlValue strategy;   ///< a mapping with at least `name`
  /// A mapping for `collective`; empty where the preset says nothing about it.
  YamlValue collective;
};

/// Reads a file of schema gradwire.presets/1. @throws ConfigError
[[nodiscard]] std::vector<Preset> read_presets(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section presets_section();

/// The shipped presets, in the order of strategies/presets.yaml of the data folder.
/// @throws ConfigError when the file is not as it should be.
[[nodiscard]] std::vector<Preset> shipped_presets();

/// The shipped preset of a name; nothing when there is none.
[[nodiscard]] std::optional<Preset> find_preset(const std::string& name);

/// The strategy that a scenario's `strategy` mapping names, by itself or by its preset; "" where it
/// does neither.
[[nodiscard]] std::string strategy_named(const YamlValue& scenario);

/// Puts the settings of `strategy.preset` into a scenario, where the scenario says nothing itself:
/// what is written beside the preset counts. Mappings are joined key by key, unless they are of
/// another `name` (compression). The preset's `collective` keys are taken unless the scenario names
/// another library. Values keep the places where they were written, so that an error tells the file
/// that is to blame. Without a preset nothing changes.
/// @throws ConfigError for an unknown preset, with the nearest; for a `name` of another strategy.
void expand_preset(YamlValue& scenario);

}  // namespace gradwire::config
