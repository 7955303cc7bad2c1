#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/decoder.hpp"

namespace gradwire::config {

/// The keys of `decoder` in a model file.
[[nodiscard]] const Fields<DecoderShape>& decoder_fields();
/// The keys of a file of published decoders.
[[nodiscard]] Section decoders_section();

/// The shape that a model file (schema gradwire.model/1) gives in place of layers; nullopt where it
/// has no `decoder`.
/// @throws ConfigError at the place in the file, also where no decoder has that shape.
[[nodiscard]] std::optional<DecoderShape> read_decoder_file(const YamlValue& document);

/// A file of published decoders by family (schema gradwire.decoders/1).
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::vector<DecoderShape> read_decoders(const YamlValue& document);

/// Those of profiles/tables/decoders.yaml, and last `transformer`, which stands for any shape. To
/// add one, add a line there.
[[nodiscard]] const std::vector<DecoderShape>& published_decoders();

/// The shape as a file that read_decoder_file takes.
/// @param comments  a line each, at the top.
[[nodiscard]] std::string write_decoder_file(const DecoderShape& shape,
                                             std::span<const std::string> comments);

}  // namespace gradwire::config
