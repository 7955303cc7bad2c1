#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire::config {

struct YamlEntry;

/// A parsed YAML value that knows where it was written, in whichever file or option that was.
struct YamlValue {
  enum class Kind : std::uint8_t { empty, scalar, list, map };

  Kind kind = Kind::empty;
  std::string text;     ///< of a scalar, as written
  bool quoted = false;  ///< a scalar in quotes is text, never a number
  SourceLocation where;
  std::string variable{};          ///< of an original system that set it; "" for our own key
  std::vector<YamlValue> items;    ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order written; no key twice

  /// The value of `key`, or nullptr when this is not a map or has no such key.
  [[nodiscard]] const YamlValue* find(std::string_view key) const;
};

/// One `key: value` of a map.
struct YamlEntry {
  std::string key;
  SourceLocation where;  ///< of the key
  YamlValue value;
};

/// What the value is, for messages: "'25'", "a list", "a mapping", "empty".
[[nodiscard]] std::string describe(const YamlValue& value);

/// The value as one line of YAML (flow style), equal for equal values.
[[nodiscard]] std::string to_text(const YamlValue& value);

/// The text in double quotes, as YAML reads it back.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

/// Reads a YAML file of one document.
/// @throws ConfigError when it cannot be read (with the nearest file name), at a syntax error, at a
///         key that stands twice in its mapping.
[[nodiscard]] YamlValue load_yaml(const std::string& file);

/// Reads YAML text. @param file  the name that errors give.
/// @param column  where on its line the text begins, from 1.
[[nodiscard]] YamlValue parse_yaml(const std::string& text, const std::string& file,
                                   int column = 1);

}  // namespace gradwire::config
