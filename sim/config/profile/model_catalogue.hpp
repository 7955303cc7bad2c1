#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/profile/model_fields.hpp"
#include "sim/models/decoder.hpp"
#include "sim/models/model.hpp"

namespace gradwire::config {

/// A model that a scenario may name.
struct ModelEntry {
  std::string name;
  std::string summary;              ///< one line
  std::vector<KeyInfo> parameters;  ///< the options that it has
  std::function<ModelDescription(const ModelOptions& options)> make;
  int image_size_min = 0;               ///< pixels; smaller images leave nothing to its last layers
  int sequence_length_max = 0;          ///< tokens; where its table of positions ends, 0: nowhere
  std::vector<std::string> heads = {};  ///< values of `head`, the default first
  /// Why the options cannot stand beside each other; empty: they always can.
  std::function<std::optional<OptionProblem>(const ModelOptions& options)> problem = {};
  int image_size_step = 1;  ///< pixels; the image's size is a multiple
};

/// Every model that is built in. To add one, add one line to image_models.cpp or
/// text_models.cpp.
[[nodiscard]] const std::vector<ModelEntry>& model_catalogue();

/// The model that the mapping's `model:` names, with the options beside it: one of the catalogue,
/// or a path to a file of schema gradwire.model/1, relative to the file that names it or to the
/// working directory. The caller calls finish().
/// @throws ConfigError at `model` for an unknown name, at an option that the model does not have
///         (with those that it has) and at a value outside its range.
[[nodiscard]] ModelDescription read_model(YamlMap& map);

/// The model of read_model() with attention in one kernel, where the catalogue's attends in several
/// and the mapping does not say which: what a later release of its framework runs.
[[nodiscard]] std::optional<ModelDescription> with_fused_attention(YamlMap& map);

/// The model that `value` names, without options.
[[nodiscard]] ModelDescription read_model(const YamlValue& value);

}  // namespace gradwire::config
