#pragma once

#include <string>

#include "sim/config/yaml/fields.hpp"
#include "sim/core/recording.hpp"

namespace gradwire::config {

/// The keys of `percentiles` of a profile's `iteration`.
[[nodiscard]] const Fields<RecordedExtras>& iteration_percentile_fields();
/// The keys of `percentiles` of a layer.
[[nodiscard]] const Fields<LayerRecording>& layer_percentile_fields();
/// The keys of `checks` of a profile.
[[nodiscard]] const Fields<RecordingChecks>& check_fields();

/// The text of `percentiles` as these fields take it, in flow style; "" where there is
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
