#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/decoder.hpp"

namespace gradwire::config {

/// The values of `model_type` that read_huggingface_config knows.
[[nodiscard]] std::vector<std::string> huggingface_model_types();

/// The shape that a config.json of HuggingFace's transformers describes, by its model_type; keys
/// that change no shape are passed over. What a file does not say is as in that type's
/// configuration class. `sequence_length` is the longest that the model takes. The name is the
/// model_type.
/// @param document  the file, of which JSON is YAML.
/// @throws ConfigError at the place in the file, also where a key asks for what no DecoderShape
///         has.
[[nodiscard]] DecoderShape read_huggingface_config(const YamlValue& document);

}  // namespace gradwire::config
