#include "sim/config/yaml/yaml_value.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/read_files.hpp"
#include "sim/core/budgets.hpp"
#include "sim/core/plain_text.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::config {
namespace {

/// What a copy of a value costs: anchors and aliases copy, so a few lines could ask for any amount
/// of memory.
struct Weight {
  std::size_t values = 1;
  std::size_t bytes = 0;
};

Weight weight_of(const YamlValue& value) {
  Weight weight{1, value.text.size()};
  const auto add = [&](const YamlValue& part) {
    const Weight more = weight_of(part);
    weight.values += more.values;
    weight.bytes += more.bytes;
  };
  for (const auto& item : value.items) add(item);
  for (const auto& entry : value.entries) {
    add(entry.value);
    weight.bytes += entry.key.size();
  }
  return weight;
}

[[noreturn]] void refuse(const SourceLocation& where, const Budget& budget) {
  throw ConfigError(where, over(budget) + "; expected fewer");
}

void check_text(const std::string& text, const SourceLocation& where, Controls allowed) {
  if (text.size() > string_bytes.most) refuse(where, string_bytes);
  const std::size_t bad = first_bad_byte(text, allowed);
  if (bad == std::string_view::npos) return;
  throw ConfigError(where, describe_bad_byte(text, bad) + "; expected plain text in UTF-8");
}

/// Builds the tree from the parser's events: unlike yaml-cpp's own nodes it sees duplicate keys
/// and aliases that contain themselves.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string file, int column) : file_(std::move(file)), first_column_(column) {}

  YamlValue take() { return std::move(root_); }

  [[nodiscard]] SourceLocation at(const YAML::Mark& mark) const {
    const int shift = mark.line == 0 ? first_column_ : 1;
    return {file_, mark.line + 1, mark.column + shift};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) {
      throw ConfigError(at(mark), "a second YAML document; expected one document a file");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlValue value;
    value.where = at(mark);
    close(std::move(value), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    YamlValue value;
    value.kind = YamlValue::Kind::scalar;
    value.text = text;
    value.quoted = tag == "!";  // how yaml-cpp marks a scalar in quotes
    value.where = at(mark);
    check_text(text, value.where, Controls::white_space);  // escapes may name any character
    close(std::move(value), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      throw ConfigError(at(mark), "an alias inside its own anchor; expected an earlier value");
    }
    count_copy(known->second, at(mark));
    close(known->second, 0, at(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlValue::Kind::list, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlValue::Kind::map, mark, anchor);
  }
  void OnSequenceEnd() override { close_container(); }
  void OnMapEnd() override { close_container(); }

 private:
  struct Open {
    YamlValue value;
    YAML::anchor_t anchor = 0;
    bool key_read = false;  ///< a map's last entry waits for its value
    std::unordered_map<std::string, SourceLocation> keys{};
  };

  void open(YamlValue::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Open container;
    container.value.kind = kind;
    container.value.where = at(mark);
    container.anchor = anchor;
    if (open_.size() == yaml_depth.most) refuse(container.value.where, yaml_depth);
    open_.push_back(std::move(container));
  }

  void close_container() {
    Open done = std::move(open_.back());
    open_.pop_back();
    close(std::move(done.value), done.anchor);
  }

  void close(YamlValue value, YAML::anchor_t anchor) {
    const SourceLocation where = value.where;
    close(std::move(value), anchor, where);
  }

  void count_copy(const YamlValue& value, const SourceLocation& where) {
    const Weight weight = weight_of(value);
    count_ += weight.values;
    copied_ += weight.bytes;
    if (count_ > yaml_values.most) refuse(where, yaml_values);
    if (copied_ > yaml_copied_bytes.most) refuse(where, yaml_copied_bytes);
  }

  /// Hangs a complete value into the container that is open.
  void close(YamlValue value, YAML::anchor_t anchor, const SourceLocation& where) {
    if (++count_ > yaml_values.most) refuse(where, yaml_values);
    if (anchor != 0) {
      count_copy(value, where);
      anchors_[anchor] = value;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == YamlValue::Kind::list) {
      parent.value.items.push_back(std::move(value));
    } else if (std::exchange(parent.key_read, !parent.key_read)) {
      YamlEntry& entry = parent.value.entries.back();
      // The parser sees that nothing stands there only at the next key.
      if (value.kind == YamlValue::Kind::empty) value.where = entry.where;
      entry.value = std::move(value);
    } else {
      add_key(parent, value);
    }
  }

  static void add_key(Open& map, const YamlValue& key) {
    if (key.kind != YamlValue::Kind::scalar) {
      throw ConfigError(key.where, fmt::format("a key that is {}; expected a name", describe(key)));
    }
    check_text(key.text, key.where, Controls::none);
    const auto [first, is_new] = map.keys.emplace(key.text, key.where);
    if (!is_new) {
      throw ConfigError(key.where,
                        fmt::format("duplicate key '{}'; expected each key once, the first is at "
                                    "{}:{}",
                                    key.text, first->second.line, first->second.column));
    }
    if (map.keys.size() > yaml_keys.most) refuse(key.where, yaml_keys);
    map.value.entries.push_back({key.text, key.where, {}});
  }

  std::string file_;
  int first_column_;
  bool started_ = false;
  std::size_t count_ = 0;   ///< of values
  std::size_t copied_ = 0;  ///< bytes of texts
  YamlValue root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlValue> anchors_;
};

/// What yaml-cpp found, in words for whoever wrote the file.
std::string syntax_problem(const YAML::Exception& error) {
  namespace msg = YAML::ErrorMsg;
  if (dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr) return over(yaml_depth);
  static const std::array<std::pair<std::string_view, const char*>, 16> problems = {
      {{msg::END_OF_SEQ_FLOW, "a list in brackets is not closed by ']'"},
       {msg::END_OF_MAP_FLOW, "a mapping in braces is not closed by '}'"},
       {msg::END_OF_MAP, "no key of the mapping, and not its end"},
       {msg::END_OF_SEQ, "no '-' of the list, and not its end"},
       {msg::TAB_IN_INDENTATION, "a tab indents the line, in the place of blanks"},
       {msg::CHAR_IN_BLOCK, "a character that begins nothing behind '|' or '>'"},
       {msg::BLOCK_ENTRY, "a '-' where no list can be"},
       {msg::FLOW_END, "a bracket or brace that closes nothing"},
       {msg::MAP_KEY, "a key where none can be"},
       {msg::MAP_VALUE, "a ':' where no value can be"},
       {msg::EOF_IN_SCALAR, "a quoted text is not closed"},
       {msg::CHAR_IN_SCALAR, "a character that no text can hold"},
       {msg::UNKNOWN_ANCHOR, "an alias whose anchor stands nowhere before"},
       {msg::ALIAS_NOT_FOUND, "a '*' without the name of an anchor"},
       {msg::INVALID_ESCAPE, "a '\\' before a character that YAML does not escape"},
       {msg::INVALID_HEX, "an escape whose digits are not hexadecimal"}}};
  for (const auto& [message, words] : problems) {
    if (error.msg.starts_with(message)) return words;
  }
  return "what stands here fits nowhere";
}

/// yaml-cpp reads on to the end of the first mapping in braces before it tells of any: what is far
/// too deep is refused before. Brackets in texts count, too, but none has a thousand unclosed.
void check_brackets(const std::string& text, const std::string& file) {
  constexpr int depth_max = 1000;
  int depth = 0;
  for (const char letter : text) {
    if (letter == '[' || letter == '{') ++depth;
    if ((letter == ']' || letter == '}') && depth > 0) --depth;
    if (depth > depth_max) refuse({file, 1, 1}, yaml_depth);
  }
}

bool needs_quotes(const YamlValue& scalar) {
  return scalar.quoted || scalar.text.empty() ||
         scalar.text.find_first_of(",:[]{}#\"'\n") != std::string::npos;
}

}  // namespace

const YamlValue* YamlValue::find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &YamlEntry::key);
  return entry == entries.end() ? nullptr : &entry->value;
}

std::string describe(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::scalar:
      return fmt::format("'{}'", value.text);
    case YamlValue::Kind::list:
      return "a list";
    case YamlValue::Kind::map:
      return "a mapping";
    case YamlValue::Kind::empty:
      break;
  }
  return "empty";
}

std::string to_text(const YamlValue& value) {
  std::string text;
  switch (value.kind) {
    case YamlValue::Kind::scalar:
      return needs_quotes(value) ? yaml_quoted(value.text) : value.text;
    case YamlValue::Kind::list:
      for (const auto& item : value.items) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", to_text(item));
      }
      return fmt::format("[{}]", text);
    case YamlValue::Kind::map:
      for (const auto& entry : value.entries) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, to_text(entry.value));
      }
      return fmt::format("{{{}}}", text);
    case YamlValue::Kind::empty:
      break;
  }
  return "null";
}

YamlValue parse_yaml(const std::string& text, const std::string& file, int column) {
  require_plain(text, file, Controls::white_space, 1, column);
  check_brackets(text, file);
  TreeBuilder builder(file, column);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(
        builder.at(error.mark),
        fmt::format("YAML syntax: {}; expected well-formed YAML", syntax_problem(error)));
  }
  YamlValue root = builder.take();
  if (root.where.file.empty()) root.where = {file, 1, column};  // nothing in it but comments
  return root;
}

std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";  // a line end in quotes reads as a blank
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

YamlValue load_yaml(const std::string& file) {
  return loaded_yaml(file);
}

const YamlValue& loaded_yaml(const std::string& file) {
  // Parsing takes ten times as long as simulating 1024 ranks, and the points of a sweep share their
  // files: what was parsed stands as long as the text is the same.
  static std::map<std::string, std::pair<std::string, YamlValue>> parsed;
  const auto known = parsed.find(file);
  if (known != parsed.end() && is_pipe(file)) return known->second.second;
  std::string text = read_bytes(file, "a readable YAML file", yaml_bytes);
  ReadFiles::note(file, text);
  if (known != parsed.end() && known->second.first == text) return known->second.second;
  YamlValue value = parse_yaml(text, file);
  return parsed.insert_or_assign(file, std::pair(std::move(text), std::move(value)))
      .first->second.second;
}

}  // namespace gradwire::config
