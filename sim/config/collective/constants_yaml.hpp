#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// Where a constant comes from.
struct ConstantSource {
  /// "published", "read" (in the original's source), "measured" (by us), "fitted" (on `rows`),
  /// "borrowed" (from another thing, for want of its own) or "assumed".
  std::string kind;
  std::string text;
  /// Series of results/reference and those of its rows that a fit was made on.
  std::map<std::string, std::string> rows;
};

/// A constant as its file states it, for pages that list them.
struct StatedConstant {
  std::string name;
  std::string value;  ///< as YAML, one line
  std::string unit;   ///< "" when it has none
  ConstantSource source;
};

/// Constants of one thing (a release of a library, a link), each with unit and source: schema
/// gradwire.constants/1. A file that is `like` another states what differs from it. A constant
/// without `source` has the first of the file's.
///
///   Constants constants(loaded_yaml(data_file(DataKind::constants, "nccl/2.18").string()));
///   constants.read("tree_base", "us", values.tree_base);
///   constants.finish();
///
/// Every reader throws ConfigError at the place in the file.
class Constants {
 public:
  /// `document` must outlive it.
  explicit Constants(const YamlValue& document);
  explicit Constants(YamlValue&& document) = delete;
  Constants(const Constants&) = delete;
  Constants& operator=(const Constants&) = delete;
  Constants(Constants&&) = default;
  Constants& operator=(Constants&&) = default;
  ~Constants() = default;
  /// Of the file profiles/libraries/`name`.yaml. @throws ConfigError when it is not of that set.
  static Constants shipped(const std::string& name, const std::string& set);

  /// What the constants are of: "NCCL 2.18".
  [[nodiscard]] const std::string& of() const { return of_; }
  /// Which constants there are: a name that constant_sets() has.
  [[nodiscard]] const std::string& set() const { return set_; }
  /// Those that the file states itself, in its order.
  [[nodiscard]] std::vector<StatedConstant> stated() const;

  [[nodiscard]] bool has(const std::string& name) const { return entries_.contains(name); }
  /// Reads one that must be there. T: double (not negative), int, bool, Seconds, Bytes,
  /// BytesPerSecond, or arrays of doubles. @param unit  that the file must state; "" for none.
  template <class T>
  void read(const std::string& name, const std::string& unit, T& value) {
    fill(value_of(name, unit), name, unit, value);
  }
  /// Rejects constants that nobody read.
  void finish() const;

 private:
  struct Entry {
    const YamlValue* value = nullptr;
    std::string unit;
    SourceLocation where{};
    const ConstantSource* source = nullptr;
    bool is_read = false;
  };
  /// A file that was read: entries point into it.
  struct File {
    const YamlValue* document;
    std::map<std::string, ConstantSource> sources{};
  };

  void add(const YamlValue& document, bool is_own, int depth);
  const YamlValue& value_of(const std::string& name, const std::string& unit);
  static const std::vector<YamlValue>& items(const YamlValue& value, const std::string& name,
                                             std::size_t count);

  template <class T, std::size_t N>
  static void fill(const YamlValue& value, const std::string& name, const std::string& unit,
                   std::array<T, N>& result) {
    const auto& all = items(value, name, N);
    for (std::size_t i = 0; i < N; ++i) fill(all[i], name, unit, result[i]);
  }
  template <class T>
  static void fill(const YamlValue& value, const std::string& name, const std::string& unit,
                   T& result) {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, int>) {
      result = read_value(value, name, at_least(T{0}));
    } else if (unit.empty()) {
      result = read_value<T>(value, name);
    } else {  // a quantity is a number and the unit beside it
      YamlValue quantity = value;
      quantity.text += " " + unit;
      result = read_value<T>(quantity, name);
    }
  }

  std::string of_;
  std::string set_;
  std::list<File> files_;  ///< this one first, then those that it is like
  std::map<std::string, Entry> entries_;
};

/// Those of the file in profiles/libraries that is named as its set, all of which `read` reads.
template <class T>
[[nodiscard]] T shipped_set(const std::string& set, void (*read)(Constants&, T&)) {
  Constants from = Constants::shipped(set, set);
  T constants;
  read(from, constants);
  from.finish();
  return constants;
}

/// The keys of such a file.
[[nodiscard]] Section constants_section();

}  // namespace gradwire::config
