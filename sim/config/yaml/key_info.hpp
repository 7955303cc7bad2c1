#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_units.hpp"

namespace gradwire::config {

struct Section;

/// What may stand at a key, for lists, pages and the JSON Schema.
struct ValueInfo {
  enum class Type : std::uint8_t {
    any,
    text,
    yes_no,
    whole,
    number,
    time,
    size,
    rate,
    clock,
    power,
    share,
    choice,   ///< one of `choices`
    section,  ///< a mapping, of `section`'s keys
    formula,  ///< a whole number, or names and numbers with + - * / and parentheses
  };
  Type type = Type::text;
  std::optional<double> above{};  ///< of counts and numbers: bounds, as in Range
  std::optional<double> least{};
  std::optional<double> most{};
  std::string range{};               ///< the bounds in words: "1 to 64", "above 0 B/s"; "": none
  std::vector<std::string> units{};  ///< that a quantity may be written in
  std::vector<std::string> choices{};
  std::function<Section()> section{};
  bool list = false;                 ///< a list of such values
  std::vector<ValueInfo> item{};     ///< of a list of which an item is this or that: which
  std::vector<ValueInfo> or_else{};  ///< what may stand in its place
};

/// A key of a mapping, or a knob of a catalogue's entry: what it is and what may stand there.
struct KeyInfo {
  std::string name;
  std::string fallback;  ///< default, with its unit; "required" when there is none
  std::string doc;       ///< what it is, or where the default comes from
  ValueInfo value{};
};

/// The fallback of a key that must be there.
inline constexpr const char* required = "required";

/// The keys of a mapping that begin with one choice: a fabric's by its `kind`.
struct Variant {
  std::string name;
  std::vector<KeyInfo> keys;
};

/// A mapping of a scenario, or of a file that it names.
struct Section {
  std::string name;     ///< as `gradwire list keys` knows it
  std::string summary;  ///< one line
  std::vector<KeyInfo> keys;
  std::string chosen_by{};  ///< the key whose value says which variant's keys there are as well
  std::vector<Variant> variants{};
  std::string chosen_default{};  ///< the variant where that key is absent; "": any of them
  std::string variants_in{};     ///< the list that shows them, where that is another one
  std::vector<std::string> other_names{};  ///< others' names, which stand for some of these keys
  /// Any other key may stand here, names that are the user's own: what they are, and hold.
  std::optional<KeyInfo> others{};
};

/// The value of a V within a range.
template <class V>
ValueInfo value_info(const Range<V>& range = {});
/// One of these.
[[nodiscard]] ValueInfo among(std::vector<std::string> choices);
/// A mapping.
[[nodiscard]] ValueInfo mapping_of(std::function<Section()> section);
/// A list of such values.
[[nodiscard]] ValueInfo list_of(ValueInfo value);
/// The first or the second.
[[nodiscard]] ValueInfo either(ValueInfo value, ValueInfo other);

/// The value in words: "a whole number, 1 to 64", "`packed`, `round_robin`".
[[nodiscard]] std::string describe(const ValueInfo& value);

}  // namespace gradwire::config
