#pragma once

#include <string>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// A value that replaces one of the document: "strategy.bucket_cap" and what to put there.
struct Override {
  std::string path;      ///< keys, or numbers of items, joined by dots
  SourceLocation where;  ///< of the path
  YamlValue value;
  int implied = 0;  ///< letters of the path's beginning that nobody wrote
};

/// What an assignment begins with that came by the option --env.
constexpr const char* env_option = "--env ";

/// Reads "dotted.key=value" from the command line; errors give "--set dotted.key=value" as file.
/// "--env NAME=value" sets `strategy.NAME`, and is itself the file of errors.
/// @throws ConfigError without an equals sign, or when the value is not YAML.
[[nodiscard]] Override parse_set(const std::string& option);

/// Puts `change` into the document, making the mappings on its way; a number counts the items of a
/// list that is there, from 0: "cluster.groups.1.nodes". `profile: NAME` stands for
/// `profile: {file: NAME}`, so that `profile.iteration_time` can join it.
/// @throws ConfigError when a key on the way holds something that is not a mapping, or a list
///         without such an item.
void apply(YamlValue& document, const Override& change);

}  // namespace gradwire::config
