#pragma once

#include "sim/config/yaml/fields.hpp"
#include "sim/models/layer_list.hpp"

namespace gradwire::config {

/// The shape of one sample: [channels, height, width], [tokens, features] or [features].
/// @throws ConfigError when it has no or more than three numbers.
[[nodiscard]] std::vector<std::int64_t> read_sample_shape(YamlMap& map, const std::string& key);

/// One item of `layers` once written out, with the keys of its kind.
/// @throws ConfigError at the place in the file.
[[nodiscard]] LayerSpec read_layer(YamlMap& map);

/// What `layers` is a list of: layers and repeated lists of them.
[[nodiscard]] ValueInfo layers_value();

/// A list of layers that stands for several copies of it.
struct Repeat {
  int count = 1;
  std::string index = "i";
};
[[nodiscard]] const Fields<Repeat>& repeat_fields();

}  // namespace gradwire::config
