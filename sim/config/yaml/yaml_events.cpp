#include "sim/config/yaml/yaml_events.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

namespace gradwire::config {
namespace {

/// What libyaml found, in words for whoever wrote the file.
const char* syntax_problem(std::string_view found) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 18> problems = {
      {{"did not find expected ',' or ']'", "a list in brackets is not closed by ']'"},
       {"did not find expected ',' or '}'", "a mapping in braces is not closed by '}'"},
       {"did not find expected key", "no key of the mapping, and not its end"},
       {"did not find expected '-' indicator", "no '-' of the list, and not its end"},
       {"did not find expected node content", "no value where one must stand"},
       {"did not find expected <document start>", "more behind the end of the value"},
       {"found a tab character", "a tab indents the line, in the place of blanks"},
       {"found character that cannot start any token", "a character that begins no value"},
       {"did not find expected comment or line break",
        "a character that begins nothing behind '|' or '>'"},
       {"block sequence entries are not allowed", "a '-' where no list can be"},
       {"mapping keys are not allowed", "a key where none can be"},
       {"mapping values are not allowed", "a ':' where no value can be"},
       {"could not find expected ':'", "a key without its ':'"},
       {"found unexpected end of stream", "a quoted text is not closed"},
       {"found undefined alias", "an alias whose anchor stands nowhere before"},
       {"did not find expected alphabetic or numeric character",
        "a '*' or '&' without the name of an anchor"},
       {"found unknown escape character", "a '\\' before a character that YAML does not escape"},
       {"did not find expected hexdecimal number",  // libyaml's own spelling
        "an escape whose digits are not hexadecimal"}}};
  for (const auto& [message, words] : problems) {
    if (found.starts_with(message)) return words;
  }
  return "what stands here fits nowhere";
}

/// Where the text's character of that number begins; its size where the text ends before.
std::size_t byte_of(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && character-- == 0) break;
  }
  return at;
}

}  // namespace

YamlEvents::YamlEvents(const std::string& text, const std::string& file, int column)
    : text_(text), file_(file), first_column_(column) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
}

YamlEvents::~YamlEvents() {
  yaml_event_delete(&event_);
  yaml_parser_delete(&parser_);
}

const yaml_event_t& YamlEvents::next() {
  yaml_event_delete(&event_);
  if (yaml_parser_parse(&parser_, &event_) == 0) refuse();
  return event_;
}

SourceLocation YamlEvents::at(const yaml_mark_t& mark) const {
  const int shift = mark.line == 0 ? first_column_ : 1;
  return {file_, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + shift};
}

void YamlEvents::refuse() const {
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  const std::size_t byte = byte_of(text_, parser_.problem_mark.index);
  // What the text ends without is reported where it began.
  const bool at_end = byte == text_.size() && parser_.context != nullptr;
  const bool at_tab = byte < text_.size() && text_[byte] == '\t';
  throw ConfigError(
      at(at_end ? parser_.context_mark : parser_.problem_mark),
      fmt::format("YAML syntax: {}; expected well-formed YAML",
                  syntax_problem(at_tab ? "found a tab character" : parser_.problem)));
}

}  // namespace gradwire::config
