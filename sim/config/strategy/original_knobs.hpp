#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/result.hpp"

namespace gradwire::config {

/// How an original system writes the value of one of its knobs: a bare number in a unit that only
/// its documentation tells.
enum class OriginalUnit : std::uint8_t {
  bytes,
  milliseconds,
  number,  ///< a count, without a unit in our knob as well
  flag,    ///< 0 or 1
  ranks,   ///< ranks with commas; "" and -1 are none: BYTEPS_REDUCE_ROOTS
  text,
};

/// A knob of an original system, under its own name, and the knob of ours that it sets.
struct OriginalKnob {
  std::string name;                       ///< "HOROVOD_FUSION_THRESHOLD"
  std::vector<std::string> strategies{};  ///< that have it
  std::string key;                        ///< "fusion_threshold", in the strategy's mapping
  OriginalUnit unit = OriginalUnit::number;
  std::string source{};  ///< where the original reads it
  /// What a flag that is 1 puts there, in place of what another variable does; "": true or false.
  std::string when_set{};
};

/// A variable that an original system, or a library under it, reads, and that changes no predicted
/// time.
struct IdleVariable {
  std::string name;    ///< "NCCL_DEBUG"
  std::string why;     ///< "it prints"
  std::string source;  ///< where it is read or described
};

/// Variables by system.
struct Variables {
  std::vector<OriginalKnob> knobs;
  std::vector<IdleVariable> idle;
};

/// Reads a file of schema gradwire.variables/1. @throws ConfigError
[[nodiscard]] Variables read_variables(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section variables_section();

/// Those of strategies/variables.yaml of the data folder. To add one, add a line there.
[[nodiscard]] const Variables& shipped_variables();

/// The names of them all.
[[nodiscard]] std::vector<std::string> variable_names();

/// "bytes", "milliseconds", for lists.
[[nodiscard]] std::string name_of(OriginalUnit unit);

/// Does a key look like an environment variable (capitals, digits and underscores)?
[[nodiscard]] bool is_variable_name(const std::string& key);

/// Our key that a variable sets of a strategy; "" where it sets none.
[[nodiscard]] std::string key_of_variable(const std::string& variable, const std::string& strategy);

/// "'HOROVOD_CYCLE_TIME' has no effect here: it is of horovod, the strategy is 'ddp'"
[[nodiscard]] Warning variable_without_effect(const std::string& variable, const std::string& why);

/// Turns the original systems' knobs in a scenario's `strategy` mapping (keys in capitals, such as
/// `HOROVOD_FUSION_THRESHOLD: 67108864`) into ours, with the unit that the original has in mind.
/// Values keep the place where they were written. What a real system reads, but not this strategy
/// or not this model, goes, with a warning: a shell's environment does not fail a job either.
/// @throws ConfigError for a name in capitals that is none of them, with the nearest; for one
///         beside our own key of the same meaning; for a value that is not what the original takes.
void translate_original_knobs(YamlValue& scenario, std::vector<Warning>& warnings);

}  // namespace gradwire::config
