#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire::calibration {

/// A value of a JSON file, with its place there.
struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  SourceLocation where;
  bool yes = false;                   ///< of a boolean
  double number = 0;                  ///< of a number
  std::optional<std::int64_t> whole;  ///< of a number written without fraction or exponent
  std::string text;                   ///< of a text
  std::vector<std::string> keys;      ///< of an object, in the file's order
  std::vector<JsonValue> items;       ///< of a list; of an object the value of each key

  /// The member of this name, nullptr when absent.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

/// Parses a whole JSON file.
/// @throws ConfigError at the place: no JSON, no UTF-8, a control character, a key twice in an
/// object, or more of anything than its budget (sim/core/budgets.hpp) allows.
[[nodiscard]] JsonValue parse_json(const std::string& text, const std::string& file);

/// Reads an object key by key and remembers which were asked for, as YamlMap does for YAML. The
/// value must outlive it; every reader throws ConfigError at the place in the file.
class JsonMap {
 public:
  /// The largest whole number by itself: one more is a number as well.
  static constexpr std::int64_t whole_max = std::numeric_limits<std::int64_t>::max() - 1;

  /// @param name  of what the object stands for, for messages.
  explicit JsonMap(const JsonValue& value, std::string name = "the file");

  [[nodiscard]] const SourceLocation& where() const { return value_->where; }

  /// The value of `key`, nullptr when absent or null; the key counts as asked for.
  const JsonValue* find(const std::string& key);
  const JsonValue& require(const std::string& key, JsonValue::Kind kind);

  std::string require_text(const std::string& key);
  std::string text_or(const std::string& key, const std::string& fallback);
  bool yes_or(const std::string& key, bool fallback);
  /// A number above `low`.
  double require_above(const std::string& key, double low);
  /// A number above `low`, nothing when absent.
  std::optional<double> optional_above(const std::string& key, double low);
  std::int64_t require_whole(const std::string& key, std::int64_t least,
                             std::int64_t most = whole_max);
  std::int64_t whole_or(const std::string& key, std::int64_t fallback, std::int64_t least,
                        std::int64_t most = whole_max);
  /// A whole number that an int holds.
  int require_count(const std::string& key, int least);
  int count_or(const std::string& key, int fallback, int least);
  /// One of the known names.
  std::string require_choice(const std::string& key, std::span<const std::string> known);
  /// The items of a list, none when absent.
  std::span<const JsonValue> list(const std::string& key);

  /// Reads `schema` and requires it to be this one.
  void require_schema(const std::string& schema);
  /// The keys nobody asked for, for objects that may say more than their reader knows.
  [[nodiscard]] std::vector<std::string> other_keys() const;
  /// Rejects keys nobody asked for. Call it last.
  void finish() const;

  /// @throws ConfigError at the value of `key`, at the object where it is absent.
  [[noreturn]] void fail(const std::string& key, const std::string& message) const;

 private:
  const JsonValue* value_;
  std::string name_;
  std::vector<std::string> asked_;
};

}  // namespace gradwire::calibration
