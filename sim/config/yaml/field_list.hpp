#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {

/// One key of a mapping that fills an object of whatever type: what it is, and how it is read.
/// Fields<T> (fields.hpp) is for those of a T; nothing here is compiled once for each of them.
struct AnyField {
  using Reads = std::function<void(YamlMap& map, const KeyInfo& key, void* member)>;
  explicit AnyField(KeyInfo key, std::size_t at = 0, Reads how = {})
      : info(std::move(key)), place(at), reads(std::move(how)) {}

  KeyInfo info;
  std::size_t place;  ///< of the member, in bytes from where the object begins
  Reads reads;        ///< asks for the key and fills the member; empty where its owner reads it

  /// Asks for the key and puts its value into the object.
  void read_into(YamlMap& map, void* object) const;
};

/// The keys of a mapping that fills an object of whatever type.
class FieldList {
 public:
  FieldList(std::string_view name, std::string_view summary) : name_(name), summary_(summary) {}

  /// Makes room for so many.
  void reserve(std::size_t count) {
    fields_.reserve(count);
    names_.reserve(count);
  }
  /// One more key.
  void add(const AnyField& field) {
    fields_.push_back(field);
    names_.push_back(field.info.name);
  }
  /// Reads every key, in the order declared; an absent one leaves what the object has.
  /// @throws ConfigError at the place in the file.
  void read_into(YamlMap& map, void* object) const;
  /// The same of a mapping that has no other key.
  void read_all_into(YamlMap map, void* object) const;

  [[nodiscard]] std::vector<KeyInfo> keys() const;
  [[nodiscard]] Section section() const { return {name_, summary_, keys()}; }

 private:
  std::string name_;
  std::string summary_;
  std::vector<AnyField> fields_;
  std::vector<std::string> names_;  ///< theirs
};

namespace detail {

template <class M>
struct Holder {  ///< a member that always has a value
  using Value = M;
  static constexpr bool one = true;
};
template <class M>
struct Holder<std::optional<M>> {
  using Value = M;
  static constexpr bool one = false;
};
template <class M>
struct Holder<std::vector<M>> {
  using Value = M;
  static constexpr bool one = false;
};
template <class M>
using Value = typename Holder<M>::Value;

/// What every declaration of a key says.
struct Declared {
  std::string_view name;
  std::string_view doc;
  std::string_view fallback;
  std::size_t place;
};

/// A member's value. M: what Written reads, an optional or a vector of it.
template <class M>
AnyField value_field(const Declared& key, const Range<Value<M>>& range, const M& own);
/// A share. M: double, or an optional of it.
template <class M>
AnyField share_field(const Declared& key, const Range<Ratio>& range, const M& own);
/// A word that stands for a text. M: std::string, or an optional of it.
template <class M>
AnyField word_field(const Declared& key,
                    const std::vector<std::pair<std::string, std::string>>& words, const M& own);
/// The words, each for itself.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> as_themselves(
    const std::vector<std::string>& words);
/// A word that stands for a value.
/// @param own   the member's own value; absent: it has none.
/// @param puts  puts a value into the member.
[[nodiscard]] AnyField choice_field(const Declared& key, std::vector<std::string> known,
                                    std::vector<std::int64_t> values,
                                    std::optional<std::int64_t> own,
                                    void (*puts)(void* member, std::int64_t value));
/// Anything, for readers.
[[nodiscard]] AnyField note_field(std::string_view name, std::string_view doc);

/// Makes fields when they are first asked for.
using FieldsMaker = std::function<const FieldList&()>;
/// The object in a member that a mapping of this name fills.
using Opens = void* (*)(void* member, const std::string& name);

/// A mapping of these fields.
[[nodiscard]] ValueInfo mapping_of_fields(FieldsMaker fields);
/// A member that a mapping fills.
[[nodiscard]] AnyField mapping_field(const Declared& key, Opens opens, FieldsMaker fields);
/// A member that a list of mappings fills.
[[nodiscard]] AnyField list_field(const Declared& key, Opens opens, FieldsMaker fields);
/// A member that a mapping of mappings fills, each of which has a name. @param entry  what that is
[[nodiscard]] AnyField named_field(const Declared& key, Opens opens, FieldsMaker fields,
                                   std::string_view entry);

}  // namespace detail
}  // namespace gradwire::config
