#pragma once

#include <optional>
#include <string>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::config {

/// Reads `percentiles` of the mapping `iteration`. All of it is optional.
void read_iteration_percentiles(YamlMap& iteration, RecordedExtras& recording);
/// Reads `percentiles` of a layer; absent: none.
[[nodiscard]] std::optional<LayerRecording> read_layer_percentiles(YamlMap& layer);
/// Reads `checks` of a profile. All of it is optional.
[[nodiscard]] RecordingChecks read_checks(YamlMap& profile);

/// The text of `percentiles` as the readers above take it, in flow style; "" where there is
/// nothing.
[[nodiscard]] std::string iteration_percentiles_text(const RecordedExtras& recording);
[[nodiscard]] std::string layer_percentiles_text(const LayerRecording& recording);
/// The text of `checks`, a mapping in block style; "" where there is nothing.
[[nodiscard]] std::string checks_text(const RecordingChecks& checks);

/// "587.5 us": to ten digits.
[[nodiscard]] std::string microseconds_text(Seconds time);
/// "0.29 %"
[[nodiscard]] std::string per_cent_text(double share);

}  // namespace gradwire::config
