#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/yaml_value.hpp"

namespace gradwire::config {

/// How an original system writes the value of one of its knobs: a bare number in a unit that only
/// its documentation tells.
enum class OriginalUnit : std::uint8_t {
  bytes,
  milliseconds,
  number,  ///< a count, without a unit in our knob as well
  flag,    ///< 0 or 1
  text,
};

/// A knob of an original system, under its own name, and the knob of ours that it sets.
struct OriginalKnob {
  std::string name;                     ///< "HOROVOD_FUSION_THRESHOLD"
  std::vector<std::string> strategies;  ///< that have it
  std::string key;                      ///< "fusion_threshold", in the strategy's mapping
  OriginalUnit unit = OriginalUnit::number;
  std::string source;  ///< where the original reads it
};

/// All of them.
[[nodiscard]] const std::vector<OriginalKnob>& original_knobs();

/// "bytes", "milliseconds", for lists.
[[nodiscard]] std::string name_of(OriginalUnit unit);

/// Turns the original systems' knobs in a scenario's `strategy` mapping (keys in capitals, such as
/// `HOROVOD_FUSION_THRESHOLD: 67108864`) into ours, with the unit that the original has in mind.
/// Values keep the place where they were written.
/// @throws ConfigError for a name in capitals that is none of them, with the nearest; for one that
///         another strategy has; for one beside our own key of the same meaning; for a value that
///         is not what the original takes.
void translate_original_knobs(YamlValue& scenario);

}  // namespace gradwire::config
