#include "sim/config/yaml/yaml_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/read_files.hpp"
#include "sim/config/yaml/yaml_events.hpp"
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

/// How YAML writes that a value is not there.
bool stands_for_nothing(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

std::string_view content(const yaml_char_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// A tag would change what a value means: `!!str 8` is no number. @param tag  of libyaml; nullptr:
/// none
void refuse_tag(const yaml_char_t* tag, const SourceLocation& where) {
  if (tag == nullptr) return;
  constexpr std::string_view core = "tag:yaml.org,2002:";
  std::string name = reinterpret_cast<const char*>(tag);
  if (name.starts_with(core)) name = "!!" + name.substr(core.size());
  throw ConfigError(where, fmt::format("a YAML tag '{}'; expected the value without one", name));
}

std::string anchor_name(const yaml_char_t* anchor) {
  return anchor == nullptr ? "" : reinterpret_cast<const char*>(anchor);
}

/// Builds the tree from the parser's events, and refuses duplicate keys and aliases that contain
/// themselves.
class TreeBuilder {
 public:
  TreeBuilder(const std::string& text, const std::string& file, int column)
      : events_(text, file, column) {}

  /// The one document; an empty value where there is none.
  YamlValue build() {
    while (true) {
      const yaml_event_t& event = events_.next();
      if (event.type == YAML_STREAM_END_EVENT) return std::move(root_);
      take(event);
    }
  }

 private:
  struct Open {
    YamlValue value;
    std::string anchor;
    bool key_read = false;  ///< a map's last entry waits for its value
    std::unordered_map<std::string, std::size_t> keys{};  ///< places of a large map's
  };

  void take(const yaml_event_t& event) {
    SourceLocation where = events_.at(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(started_, true)) {
          throw ConfigError(where, "a second YAML document; expected one document a file");
        }
        break;
      case YAML_SCALAR_EVENT:
        scalar(event, std::move(where));
        break;
      case YAML_ALIAS_EVENT:
        alias(anchor_name(event.data.alias.anchor), where);
        break;
      case YAML_SEQUENCE_START_EVENT:
        refuse_tag(event.data.sequence_start.tag, where);
        open(YamlValue::Kind::list, std::move(where),
             anchor_name(event.data.sequence_start.anchor));
        break;
      case YAML_MAPPING_START_EVENT:
        refuse_tag(event.data.mapping_start.tag, where);
        open(YamlValue::Kind::map, std::move(where), anchor_name(event.data.mapping_start.anchor));
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close_container();
        break;
      default:  // the stream's beginning, the document's end
        break;
    }
  }

  void scalar(const yaml_event_t& event, SourceLocation where) {
    const auto& data = event.data.scalar;
    refuse_tag(data.tag, where);
    YamlValue value;
    value.where = std::move(where);
    value.text = content(data.value, data.length);
    value.quoted = data.style != YAML_PLAIN_SCALAR_STYLE;
    if (value.quoted || !stands_for_nothing(value.text)) {
      value.kind = YamlValue::Kind::scalar;
      // Escapes may name any character.
      check_text(value.text, value.where, Controls::white_space);
    } else {
      value.text.clear();
    }
    close(std::move(value), anchor_name(data.anchor));
  }

  void alias(const std::string& name, const SourceLocation& where) {
    const auto known = anchors_.find(name);
    if (known == anchors_.end()) {
      throw ConfigError(where,
                        "YAML syntax: an alias whose anchor stands nowhere before; expected "
                        "well-formed YAML");
    }
    if (!known->second) {
      throw ConfigError(where, "an alias inside its own anchor; expected an earlier value");
    }
    count_copy(*known->second, where);
    hang(YamlValue(*known->second), where);
  }

  void open(YamlValue::Kind kind, SourceLocation where, std::string anchor) {
    if (open_.size() == yaml_depth.most) refuse(where, yaml_depth);
    if (!anchor.empty()) anchors_[anchor] = std::nullopt;
    Open& container = open_.emplace_back();
    container.value.kind = kind;
    container.value.where = std::move(where);
    container.anchor = std::move(anchor);
  }

  void close_container() {
    Open done = std::move(open_.back());
    open_.pop_back();
    close(std::move(done.value), done.anchor);
  }

  void count_copy(const YamlValue& value, const SourceLocation& where) {
    const Weight weight = weight_of(value);
    count_ += weight.values;
    copied_ += weight.bytes;
    if (count_ > yaml_values.most) refuse(where, yaml_values);
    if (copied_ > yaml_copied_bytes.most) refuse(where, yaml_copied_bytes);
  }

  void close(YamlValue value, const std::string& anchor) {
    if (!anchor.empty()) {
      count_copy(value, value.where);
      anchors_[anchor] = value;
    }
    hang(std::move(value), {});
  }

  /// Hangs a complete value into the container that is open. @param alias  where it stands for it.
  void hang(YamlValue value, const SourceLocation& alias) {
    if (++count_ > yaml_values.most) refuse(alias.line > 0 ? alias : value.where, yaml_values);
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
      add_key(parent, std::move(value));
    }
  }

  /// The entry of that name, or none. Few are looked through, many have an index.
  static const YamlEntry* find_entry(Open& map, const std::string& key) {
    constexpr std::size_t few = 16;
    const std::vector<YamlEntry>& entries = map.value.entries;
    if (entries.size() < few) {
      const auto entry = std::ranges::find(entries, key, &YamlEntry::key);
      return entry == entries.end() ? nullptr : &*entry;
    }
    for (std::size_t i = map.keys.size(); i < entries.size(); ++i) map.keys[entries[i].key] = i;
    const auto place = map.keys.find(key);
    return place == map.keys.end() ? nullptr : &entries[place->second];
  }

  static void add_key(Open& map, YamlValue key) {
    if (key.kind != YamlValue::Kind::scalar) {
      throw ConfigError(key.where, fmt::format("a key that is {}; expected a name", describe(key)));
    }
    check_text(key.text, key.where, Controls::none);
    if (key.text == "<<" && !key.quoted) {
      throw ConfigError(key.where,
                        "a merge key '<<'; expected the keys themselves, or an alias in "
                        "the place of a whole value");
    }
    if (const YamlEntry* first = find_entry(map, key.text)) {
      throw ConfigError(key.where,
                        fmt::format("duplicate key '{}'; expected each key once, the first is at "
                                    "{}:{}",
                                    key.text, first->where.line, first->where.column));
    }
    if (map.value.entries.size() == yaml_keys.most) refuse(key.where, yaml_keys);
    map.value.entries.push_back({std::move(key.text), std::move(key.where), {}});
  }

  YamlEvents events_;
  bool started_ = false;
  std::size_t count_ = 0;   ///< of values
  std::size_t copied_ = 0;  ///< bytes of texts
  YamlValue root_;
  std::vector<Open> open_;
  std::map<std::string, std::optional<YamlValue>> anchors_;  ///< none: not complete yet
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
  require_plain(text, file, Controls::white_space, 1, column);
  // Editors of Windows write one; libyaml counts it as a column, by which line 2 ends the mapping.
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) {
    return parse_yaml(text.substr(byte_order_mark.size()), file, column);
  }
  YamlValue root = TreeBuilder(text, file, column).build();
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

std::shared_ptr<const YamlValue> shared_yaml(const std::string& file) {
  // Parsing takes ten times as long as simulating 1024 ranks, and the points of a sweep share their
  // files: what was parsed stands as long as the text is the same.
  static std::map<std::string, std::pair<std::string, std::shared_ptr<const YamlValue>>> parsed;
  const auto known = parsed.find(file);
  if (known != parsed.end() && is_pipe(file)) return known->second.second;
  std::string text = read_bytes(file, "a readable YAML file", yaml_bytes);
  ReadFiles::note(file, text);
  if (known != parsed.end() && known->second.first == text) return known->second.second;
  auto value = std::make_shared<const YamlValue>(parse_yaml(text, file));
  return parsed.insert_or_assign(file, std::pair(std::move(text), std::move(value)))
      .first->second.second;
}

const YamlValue& loaded_yaml(const std::string& file) {
  return *shared_yaml(file);  // kept there
}

}  // namespace gradwire::config
