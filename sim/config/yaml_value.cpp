#include "sim/config/yaml_value.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "sim/core/text_file.hpp"

namespace gradwire::config {
namespace {

/// Aliases copy what they name, so a few lines could ask for any amount of memory.
constexpr std::size_t values_max = 2'000'000;

std::size_t count_values(const YamlValue& value) {
  std::size_t count = 1;
  for (const auto& item : value.items) count += count_values(item);
  for (const auto& entry : value.entries) count += count_values(entry.value);
  return count;
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
    close(std::move(value), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      throw ConfigError(at(mark), "an alias inside its own anchor; expected an earlier value");
    }
    count_ += count_values(known->second) - 1;
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
  };

  void open(YamlValue::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Open container;
    container.value.kind = kind;
    container.value.where = at(mark);
    container.anchor = anchor;
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

  /// Hangs a complete value into the container that is open.
  void close(YamlValue value, YAML::anchor_t anchor, const SourceLocation& where) {
    if (++count_ > values_max) {
      throw ConfigError(where, fmt::format("too many values; expected at most {}", values_max));
    }
    if (anchor != 0) anchors_[anchor] = value;
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
      add_key(parent.value, value);
    }
  }

  static void add_key(YamlValue& map, const YamlValue& key) {
    if (key.kind != YamlValue::Kind::scalar) {
      throw ConfigError(key.where, fmt::format("a key that is {}; expected a name", describe(key)));
    }
    for (const auto& entry : map.entries) {
      if (entry.key != key.text) continue;
      throw ConfigError(key.where,
                        fmt::format("duplicate key '{}'; expected each key once, the first is at "
                                    "{}:{}",
                                    key.text, entry.where.line, entry.where.column));
    }
    map.entries.push_back({key.text, key.where, {}});
  }

  std::string file_;
  int first_column_;
  bool started_ = false;
  std::size_t count_ = 0;
  YamlValue root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlValue> anchors_;
};

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
  TreeBuilder builder(file, column);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(builder.at(error.mark),
                      fmt::format("YAML syntax: {}; expected well-formed YAML", error.msg));
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
    } else {
      result += c;
    }
  }
  return result + '"';
}

YamlValue load_yaml(const std::string& file) {
  namespace fs = std::filesystem;
  // Parsing takes ten times as long as simulating 1024 ranks, and the points of a sweep share their
  // files: what was parsed stands as long as the text is the same.
  static std::map<std::string, std::pair<std::string, YamlValue>> parsed;
  const auto known = parsed.find(file);
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  const bool is_pipe = status.type() == fs::file_type::fifo;  // a shell's <(...): it reads once
  if (is_pipe && known != parsed.end()) return known->second.second;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !(is_pipe || status.type() == fs::file_type::regular)) {
    throw ConfigError({file, 1, 1}, "cannot be read; expected a readable YAML file" +
                                        (fs::exists(status) ? "" : file_suggestion(file)));
  }
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (known != parsed.end() && known->second.first == text) return known->second.second;
  YamlValue value = parse_yaml(text, file);
  parsed.insert_or_assign(file, std::pair(std::move(text), value));
  return value;
}

}  // namespace gradwire::config
