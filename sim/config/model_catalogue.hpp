#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml_map.hpp"
#include "sim/models/decoder.hpp"
#include "sim/models/model.hpp"

namespace gradwire::config {

/// A model that a scenario may name.
struct ModelEntry {
  std::string name;
  std::string summary;                    ///< one line
  std::vector<ParameterInfo> parameters;  ///< the options that it has
  std::function<ModelDescription(const ModelOptions& options)> make;
  int image_size_min = 0;               ///< pixels; smaller images leave nothing to its last layers
  int sequence_length_max = 0;          ///< tokens; where its table of positions ends, 0: nowhere
  std::vector<std::string> heads = {};  ///< values of `head`, the default first
  /// Why the options cannot stand beside each other; empty: they always can.
  std::function<std::optional<OptionProblem>(const ModelOptions& options)> problem = {};
};

/// Every model that is built in. To add one, add one line to model_catalogue.cpp.
[[nodiscard]] const std::vector<ModelEntry>& model_catalogue();

/// Reads the options that stand beside `model:` in the mapping: image_size, sequence_length,
/// vocabulary, classes, head, tied, and those of decoders. The caller calls finish().
/// @throws ConfigError at a value that no model could have.
[[nodiscard]] ModelOptions read_model_options(YamlMap& map);

/// The model that `value` names: one of the catalogue, or a path to a file of schema
/// gradwire.model/1, relative to the file that names it or to the working directory.
/// @throws ConfigError at `value` for an unknown name, for an option that the model does not have
///         (with those that it has), and for a value outside its range.
[[nodiscard]] ModelDescription read_model(const YamlValue& value, const ModelOptions& options);

/// The same for the mapping's `model:` and the options beside it; an option's error is reported at
/// the option.
[[nodiscard]] ModelDescription read_model(YamlMap& map);

}  // namespace gradwire::config
