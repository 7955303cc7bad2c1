#pragma once

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// The layers of a model file as they would stand without its shorthand:
/// - `parameters: {h: 1024, f: 4 * h}` names whole numbers, each of those before it; every size of
///   a layer may be an expression of them: + - * /, the last without a rest, and parentheses;
/// - `{repeat: 24, as: i, layers: [...]}` in place of a layer stands for that many copies, in whose
///   texts `{i}` is the copy's number from 0, and `{before}` the name of the layer before the copy.
/// Items of a copy keep their place in the file.
/// @return `layers`' list. @throws ConfigError at the place in the file.
[[nodiscard]] YamlValue written_out_layers(const YamlValue& document);

}  // namespace gradwire::config
