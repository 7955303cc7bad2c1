#pragma once

#include <yaml.h>

#include <string>

#include "sim/core/error.hpp"

namespace gradwire::config {

/// The events of a YAML text, one after the other, as libyaml finds them.
class YamlEvents {
 public:
  /// REQUIRES: the text and the name outlive it.
  /// @param column  where on its line the text begins, from 1.
  YamlEvents(const std::string& text, const std::string& file, int column);
  ~YamlEvents();
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  /// Good until the next is asked for. None may be asked for behind YAML_STREAM_END_EVENT.
  /// @throws ConfigError at a syntax error.
  const yaml_event_t& next();

  [[nodiscard]] SourceLocation at(const yaml_mark_t& mark) const;

 private:
  [[noreturn]] void refuse() const;

  const std::string& text_;
  const std::string& file_;
  int first_column_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

}  // namespace gradwire::config
