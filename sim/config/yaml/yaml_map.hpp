#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_units.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// Reads a YAML mapping key by key and remembers which keys were asked for.
///
///   const YamlValue document = load_yaml(file);
///   YamlMap map(document);
///   map.require_schema("gradwire.gpu/1");
///   const auto bandwidth = map.require<BytesPerSecond>("memory_bandwidth", above(0_GBps));
///   map.finish();
///
/// The YamlValue must outlive it. Every reader throws ConfigError at the place in the file.
/// T: std::string, bool, int, std::int64_t, std::uint64_t, double, Seconds, Bytes, BytesPerSecond,
/// Ratio (see read_value).
class YamlMap {
 public:
  /// @param name  of the key that holds the mapping, for messages.
  explicit YamlMap(const YamlValue& value, const std::string& name = "");

  /// Where the mapping begins.
  [[nodiscard]] const SourceLocation& where() const { return value_->where; }
  /// Messages know these keys from now on, and in this order; finish() refuses one that nobody asks
  /// for.
  void declare(const std::vector<std::string>& keys);
  /// Asks for no value: messages know the key from now on, but finish() still refuses it.
  [[nodiscard]] bool has(const std::string& key) const;
  /// The original system's variable that set `key`; "" when a key of ours did, or none. Asks as
  /// has() does.
  [[nodiscard]] std::string variable_of(const std::string& key) const;
  /// The keys as written, for mappings whose keys are free names.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// The value of `key`, nullptr when absent; the key counts as asked for.
  const YamlValue* find(const std::string& key);
  /// The value of `key`. @param what  was expected, for the message.
  const YamlValue& require_value(const std::string& key, const std::string& what);

  template <class T>
  T require(const std::string& key, const Range<T>& range = {}) {
    const YamlValue* value =
        find(key);  // the words are made where they are needed: files have thousands
    return read_value<T>(value != nullptr ? *value : require_value(key, Written<T>::expected()),
                         key, range);
  }
  template <class T>
  std::optional<T> optional(const std::string& key, const Range<T>& range = {}) {
    const YamlValue* value = find(key);
    return value != nullptr ? std::optional<T>(read_value<T>(*value, key, range)) : std::nullopt;
  }
  template <class T>
  T value_or(const std::string& key, T fallback, const Range<T>& range = {}) {
    const YamlValue* value = find(key);
    return value != nullptr ? read_value<T>(*value, key, range) : fallback;
  }
  /// A list of T, empty when absent.
  template <class T>
  std::vector<T> list(const std::string& key, const Range<T>& range = {}) {
    std::vector<T> numbers;
    for (const YamlValue* item : items(key, Written<T>::expected())) {
      numbers.push_back(read_value<T>(*item, key, range));
    }
    return numbers;
  }

  /// One of a list of names. @throws ConfigError with the nearest of them.
  std::string require_choice(const std::string& key, std::span<const std::string> known);
  std::string choice_or(const std::string& key, const std::string& fallback,
                        std::span<const std::string> known);

  YamlMap require_map(const std::string& key);
  std::optional<YamlMap> optional_map(const std::string& key);
  /// A list of mappings, empty when absent.
  std::vector<YamlMap> maps(const std::string& key);

  /// Reads `schema:` and requires it to be `schema`.
  void require_schema(const std::string& schema);

  /// Rejects a key that only later versions understand; it must not be ignored silently.
  void refuse(const std::string& key) const;

  /// Rejects keys nobody asked for, with the nearest that was. Call it last: a misspelt key must
  /// not become a silent default.
  void finish() const;

  /// @throws ConfigError at the value of `key` (at the mapping when absent).
  [[noreturn]] void fail(const std::string& key, const std::string& message) const;

 private:
  std::vector<const YamlValue*> items(const std::string& key, const std::string& what);
  /// Keys that messages name.
  [[nodiscard]] std::vector<std::string> legal_keys() const;

  const YamlValue* value_;
  std::vector<std::string> legal_;          ///< declared or asked for, in that order
  std::vector<bool> asked_;                 ///< by entry of the value
  mutable std::vector<std::string> known_;  ///< those that has() was asked for
};

/// @throws ConfigError "'name' is 'value'; expected one of ...; did you mean ...?".
[[noreturn]] void fail_choice(const YamlValue& value, const std::string& name,
                              std::span<const std::string> known);

}  // namespace gradwire::config
