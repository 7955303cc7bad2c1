#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/layer_list.hpp"
#include "sim/models/model.hpp"

namespace gradwire::config {

/// A user's own model before it is built.
struct ModelFile {
  std::string name;
  std::string source;               ///< where the layers come from
  std::vector<std::int64_t> input;  ///< shape of one sample
  std::vector<LayerSpec> layers;    ///< forward order
};

/// Reads a user's own model (schema gradwire.model/1): the shape of one sample and the layers in
/// forward order, as LayerSpec says. A layer reads the one before it, the layer that `input` names,
/// those that `inputs` lists, or a shape that `input` gives. A kernel or padding is a number or
/// [height, width]. Shorthand is written out, see written_out_layers. Or a `decoder`, see
/// read_decoder_file.
/// @throws ConfigError at the place in the file, also where the layers do not fit together.
[[nodiscard]] ModelDescription read_model_file(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section model_section();

/// The model as a file that read_model_file takes.
/// @param comments  a line each, at the top.
[[nodiscard]] std::string write_model_file(const ModelFile& model,
                                           std::span<const std::string> comments);

}  // namespace gradwire::config
