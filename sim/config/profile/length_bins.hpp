#pragma once

#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// A profile's mapping with one `sequence_length`, and the share of all batches that it is of.
struct LengthBin {
  YamlValue profile;
  double share = 1;
};

/// What `sequence_length: {128: 0.4, 512: 0.6}` may hold: how many batches, or which share of them,
/// have sequences of a length.
[[nodiscard]] ValueInfo length_bins_info();

/// The bins of a `profile` mapping; one, the mapping itself, where its `sequence_length` is a
/// number or absent. Shares add up to 1.
/// @throws ConfigError at the length, or at its count.
[[nodiscard]] std::vector<LengthBin> length_bins(const YamlValue& profile);

}  // namespace gradwire::config
