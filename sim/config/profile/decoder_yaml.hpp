#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/decoder.hpp"

namespace gradwire::config {

/// The keys of `decoder` in a model file.
[[nodiscard]] const Fields<DecoderShape>& decoder_fields();
[[nodiscard]] Section decoder_section();

/// The shape that a model file (schema gradwire.model/1) gives in place of layers; nullopt where it
/// has no `decoder`.
/// @throws ConfigError at the place in the file, also where no decoder has that shape.
[[nodiscard]] std::optional<DecoderShape> read_decoder_file(const YamlValue& document);

/// The shape as a file that read_decoder_file takes.
/// @param comments  a line each, at the top.
[[nodiscard]] std::string write_decoder_file(const DecoderShape& shape,
                                             std::span<const std::string> comments);

}  // namespace gradwire::config
