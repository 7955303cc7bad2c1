#include "calibration/import/json_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "sim/core/budgets.hpp"
#include "sim/core/plain_text.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::calibration {
namespace {

/// Reads a text and tells how far it came.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

/// Turns byte numbers into places; they must not fall.
class Places {
 public:
  Places(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  SourceLocation at(std::size_t byte) {
    for (; byte_ < std::min(byte, text_.size()); ++byte_) {
      if (text_[byte_] == '\n') {
        ++line_;
        line_begin_ = byte_ + 1;
      }
    }
    return {file_, line_, static_cast<int>(byte_ - line_begin_) + 1};
  }

 private:
  const std::string& text_;
  const std::string& file_;
  std::size_t byte_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

/// Builds the tree from the parser's events.
class TreeBuilder {
 public:
  using Json = nlohmann::json;

  TreeBuilder(const std::string& text, const std::string& file, const std::size_t* read)
      : text_(text), places_(text, file), read_(read) {}

  bool null() { return add({}); }
  bool boolean(bool yes) {
    JsonValue value;
    value.kind = JsonValue::Kind::boolean;
    value.yes = yes;
    return add(std::move(value));
  }
  bool number_integer(Json::number_integer_t number) { return add(whole(number)); }
  bool number_unsigned(Json::number_unsigned_t number) {
    if (std::in_range<std::int64_t>(number)) return add(whole(static_cast<std::int64_t>(number)));
    return number_float(static_cast<double>(number), {});
  }
  bool number_float(double number, const std::string& /*text*/) {
    JsonValue value;
    value.kind = JsonValue::Kind::number;
    value.number = number;
    return add(std::move(value));
  }
  bool string(std::string& text) {
    check_text(text, Controls::white_space);
    JsonValue value;
    value.kind = JsonValue::Kind::text;
    value.text = std::move(text);
    return add(std::move(value));
  }
  static bool binary(Json::binary_t& /*unused*/) { return false; }
  bool start_object(std::size_t /*unused*/) { return open(JsonValue::Kind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*unused*/) { return open(JsonValue::Kind::list); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    check_text(name, Controls::none);
    const SourceLocation where = place();
    if (!open_.back().keys.insert(name).second) {
      throw ConfigError(where, fmt::format("the key '{}' stands twice; expected it once", name));
    }
    if (open_.back().keys.size() > json_keys.most) refuse(where, json_keys);
    open_.back().value->keys.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    throw ConfigError(places_.at(byte > 0 ? byte - 1 : 0),
                      "the JSON breaks off or is none; expected one JSON object");
  }

  JsonValue take() { return std::move(root_); }

 private:
  /// An object or list that is being read.
  struct Open {
    JsonValue* value = nullptr;
    std::unordered_set<std::string> keys{};
  };

  [[noreturn]] static void refuse(const SourceLocation& where, const Budget& budget) {
    throw ConfigError(where, over(budget) + "; expected fewer");
  }
  /// A text of the file that is about to get its place.
  void check_text(const std::string& text, Controls allowed) {
    const std::size_t bad = first_bad_byte(text, allowed);
    if (text.size() <= string_bytes.most && bad == std::string_view::npos) return;
    const SourceLocation where = place();
    if (text.size() > string_bytes.most) refuse(where, string_bytes);
    throw ConfigError(where, describe_bad_byte(text, bad) + "; expected plain text in UTF-8");
  }

  static JsonValue whole(std::int64_t number) {
    JsonValue value;
    value.kind = JsonValue::Kind::number;
    value.number = static_cast<double>(number);
    value.whole = number;
    return value;
  }
  /// Where the token begins that was read last. Behind a number one more character was read, which
  /// begins no token that has a place.
  SourceLocation place() {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n,:]}", end_);
    end_ = *read_;
    return places_.at(begin);
  }
  JsonValue* put(JsonValue value) {
    value.where = place();
    if (++count_ > json_values.most) refuse(value.where, json_values);
    if (open_.empty()) return &(root_ = std::move(value));
    return &open_.back().value->items.emplace_back(std::move(value));
  }
  bool add(JsonValue value) {
    put(std::move(value));
    return true;
  }
  bool open(JsonValue::Kind kind) {
    JsonValue value;
    value.kind = kind;
    JsonValue* opened = put(std::move(value));
    if (open_.size() == json_depth.most) refuse(opened->where, json_depth);
    open_.push_back({opened});
    return true;
  }
  bool close() {
    open_.pop_back();
    end_ = *read_;
    return true;
  }

  const std::string& text_;
  Places places_;
  const std::size_t* read_;
  std::size_t end_ = 0;  ///< of the token before
  JsonValue root_;
  std::vector<Open> open_;
  std::size_t count_ = 0;  ///< of values
};

std::string_view name_of(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "true or false";
    case JsonValue::Kind::number:
      return "a number";
    case JsonValue::Kind::text:
      return "a text";
    case JsonValue::Kind::list:
      return "a list";
    case JsonValue::Kind::object:
      break;
  }
  return "an object";
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

JsonValue parse_json(const std::string& text, const std::string& file) {
  require_plain(text, file, Controls::white_space);
  std::size_t read = 0;
  TreeBuilder builder(text, file, &read);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &read),
                            CountingIterator(text.data() + text.size(), &read), &builder);
  return builder.take();
}

JsonMap::JsonMap(const JsonValue& value, std::string name)
    : value_(&value), name_(std::move(name)) {
  if (value.kind != JsonValue::Kind::object) {
    throw ConfigError(value.where, fmt::format("{} is {}; expected an object", name_,
                                               calibration::name_of(value.kind)));
  }
}

const JsonValue* JsonMap::find(const std::string& key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.push_back(key);
  const JsonValue* value = value_->find(key);
  return value == nullptr || value->kind == JsonValue::Kind::null ? nullptr : value;
}

const JsonValue& JsonMap::require(const std::string& key, JsonValue::Kind kind) {
  const JsonValue* value = find(key);
  if (value == nullptr) {
    fail(key, fmt::format("{} has no '{}'; expected {}", name_, key, calibration::name_of(kind)));
  }
  if (value->kind != kind) {
    fail(key, fmt::format("'{}' is {}; expected {}", key, calibration::name_of(value->kind),
                          calibration::name_of(kind)));
  }
  return *value;
}

std::string JsonMap::require_text(const std::string& key) {
  return require(key, JsonValue::Kind::text).text;
}

std::string JsonMap::text_or(const std::string& key, const std::string& fallback) {
  return find(key) == nullptr ? fallback : require_text(key);
}

bool JsonMap::yes_or(const std::string& key, bool fallback) {
  return find(key) == nullptr ? fallback : require(key, JsonValue::Kind::boolean).yes;
}

double JsonMap::require_above(const std::string& key, double low) {
  const double number = require(key, JsonValue::Kind::number).number;
  if (!(number > low)) {
    fail(key, fmt::format("'{}' is {}; expected a number above {}", key, number, low));
  }
  return number;
}

std::optional<double> JsonMap::optional_above(const std::string& key, double low) {
  return find(key) == nullptr ? std::nullopt : std::optional(require_above(key, low));
}

std::int64_t JsonMap::require_whole(const std::string& key, std::int64_t least, std::int64_t most) {
  const JsonValue& value = require(key, JsonValue::Kind::number);
  if (!value.whole || *value.whole < least || *value.whole > most) {
    const bool bounded = most < whole_max;
    fail(key, fmt::format("'{}' is {}; expected a whole number of at least {}{}", key, value.number,
                          least, bounded ? fmt::format(", at most {}", most) : ""));
  }
  return *value.whole;
}

std::int64_t JsonMap::whole_or(const std::string& key, std::int64_t fallback, std::int64_t least,
                               std::int64_t most) {
  return find(key) == nullptr ? fallback : require_whole(key, least, most);
}

int JsonMap::require_count(const std::string& key, int least) {
  return static_cast<int>(require_whole(key, least, std::numeric_limits<int>::max()));
}

int JsonMap::count_or(const std::string& key, int fallback, int least) {
  return find(key) == nullptr ? fallback : require_count(key, least);
}

std::string JsonMap::require_choice(const std::string& key, std::span<const std::string> known) {
  std::string text = require_text(key);
  if (std::ranges::find(known, text) == known.end()) {
    fail(key, fmt::format("'{}' is '{}'; expected one of {}{}", key, text, fmt::join(known, ", "),
                          suggestion(text, known)));
  }
  return text;
}

std::span<const JsonValue> JsonMap::list(const std::string& key) {
  if (find(key) == nullptr) return {};
  return require(key, JsonValue::Kind::list).items;
}

void JsonMap::require_schema(const std::string& schema) {
  const std::string written = require_text("schema");
  if (written != schema) {
    fail("schema", fmt::format("the schema is '{}'; expected '{}'", written, schema));
  }
}

std::vector<std::string> JsonMap::other_keys() const {
  std::vector<std::string> keys;
  std::ranges::copy_if(value_->keys, std::back_inserter(keys), [&](const std::string& key) {
    return std::ranges::find(asked_, key) == asked_.end();
  });
  return keys;
}

void JsonMap::finish() const {
  for (const std::string& key : other_keys()) {
    throw ConfigError(value_->find(key)->where,
                      fmt::format("unknown key '{}'; expected one of {}{}", key,
                                  fmt::join(asked_, ", "), suggestion(key, asked_)));
  }
}

void JsonMap::fail(const std::string& key, const std::string& message) const {
  const JsonValue* value = value_->find(key);
  throw ConfigError(value == nullptr ? value_->where : value->where, message);
}

}  // namespace gradwire::calibration
