#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/yaml/field_list.hpp"

namespace gradwire::config {

/// One key of a mapping that fills a T: what it is, and how it is read.
template <class T>
struct Field : AnyField {
  explicit Field(AnyField field) : AnyField(std::move(field)) {}
  /// A key whose owner reads it itself, after the others.
  // NOLINTNEXTLINE(google-explicit-constructor): in tables a key stands for it
  Field(KeyInfo key) : AnyField(std::move(key)) {}
  /// @param asks  for the key and puts its value into a T.
  template <class Asks>
  Field(KeyInfo key, Asks asks)
      : AnyField(std::move(key), 0, [asks](YamlMap& map, const KeyInfo& /*key*/, void* into) {
          asks(map, *static_cast<T*>(into));
        }) {}

  /// Asks for the key and puts its value into `into`.
  void read(YamlMap& map, T& into) const { read_into(map, &into); }
};

/// The keys of a mapping that fills a T, declared once: reader, messages, `gradwire list keys`, the
/// tables of docs/scenario.md and the JSON Schema come from it.
///
///   const Fields<JitterSpec>& jitter_fields() {
///     static const Fields<JitterSpec> fields = {
///         "jitter", "how unequal GPUs and iterations are",
///         {share("rank", &JitterSpec::rank, "...", between(Ratio{0}, Ratio{1})),
///          ...}};
///     return fields;
///   }
///   jitter_fields().read_all(map, jitter);
template <class T>
class Fields : public FieldList {
 public:
  Fields(std::string_view name, std::string_view summary, std::initializer_list<Field<T>> fields)
      : FieldList(name, summary) {
    add_all(fields);
  }
  Fields(std::string_view name, std::string_view summary, const std::vector<Field<T>>& fields)
      : FieldList(name, summary) {
    add_all(fields);
  }

  /// Reads every key, in the order declared; an absent one leaves what `into` has.
  /// @throws ConfigError at the place in the file.
  void read(YamlMap& map, T& into) const { read_into(map, &into); }
  /// The same of a mapping that has no other key.
  void read_all(YamlMap map, T& into) const { read_all_into(map, &into); }

 private:
  template <class List>
  void add_all(const List& fields) {
    reserve(fields.size());
    for (const Field<T>& field : fields) add(field);
  }
};

/// Words, each with what a member is then: a number or an enumerator, yes or no.
template <class V>
struct Words {
  static_assert(std::is_enum_v<V> || std::is_integral_v<V>, "kept as a whole number");
  Words(std::initializer_list<std::pair<const char*, V>> words) { add_all(words); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  Words(const std::vector<std::pair<std::string, V>>& words) { add_all(words); }

  std::vector<std::string> known;
  std::vector<std::int64_t> values;

 private:
  template <class List>
  void add_all(const List& words) {
    for (const auto& [word, value] : words) {
      known.emplace_back(word);
      values.push_back(static_cast<std::int64_t>(value));
    }
  }
};

namespace detail {

/// What a T is where nothing is said; once, so that not each of its fields makes one.
template <class T>
const T& unset() {
  static const T value{};
  return value;
}

/// Where the member lies in a T, in bytes.
template <class T, class M>
std::size_t place_of(M T::*member) {
  const void* whole = &unset<T>();
  const void* part = &(unset<T>().*member);
  return static_cast<std::size_t>(static_cast<const char*>(part) - static_cast<const char*>(whole));
}

/// The object in a member that a mapping fills: an optional's or a vector's is a new one.
template <class M>
void* open(void* member, const std::string& /*name*/) {
  if constexpr (std::is_same_v<M, std::vector<Value<M>>>) {
    return &static_cast<M*>(member)->emplace_back();
  } else if constexpr (std::is_same_v<M, std::optional<Value<M>>>) {
    return &static_cast<M*>(member)->emplace();
  } else {
    return member;
  }
}
/// The same of one more name.
template <class V>
void* open_named(void* member, const std::string& name) {
  return &static_cast<std::vector<std::pair<std::string, V>>*>(member)
              ->emplace_back(name, V{})
              .second;
}

}  // namespace detail

/// A key that is a member's value: counts, numbers, quantities, texts, yes or no; of a vector a
/// list of them. An optional or a vector may be absent.
/// @param fallback  `required`, or the default in words where it is not the member's own.
template <class T, class M>
Field<T> field(std::string_view name, M T::*member, std::string_view doc,
               const Range<std::type_identity_t<detail::Value<M>>>& range = {},
               std::string_view fallback = "") {
  return Field<T>(detail::value_field<M>({name, doc, fallback, detail::place_of(member)}, range,
                                         detail::unset<T>().*member));
}

/// A share, written in per cent, kept as a number.
template <class T, class M>
Field<T> share(std::string_view name, M T::*member, std::string_view doc, const Range<Ratio>& range,
               std::string_view fallback = "") {
  return Field<T>(detail::share_field<M>({name, doc, fallback, detail::place_of(member)}, range,
                                         detail::unset<T>().*member));
}

/// One of some words, each with what the member is then. The default is the member's own.
template <class T, class M>
requires(!std::is_same_v<detail::Value<M>, std::string>) Field<T> choice(
    std::string_view name, M T::*member, const Words<std::type_identity_t<detail::Value<M>>>& words,
    std::string_view doc, std::string_view fallback = "") {
  using V = detail::Value<M>;
  const M& own = detail::unset<T>().*member;
  std::optional<std::int64_t> own_value;
  if constexpr (detail::Holder<M>::one) {
    own_value = static_cast<std::int64_t>(own);
  } else if (own) {
    own_value = static_cast<std::int64_t>(*own);
  }
  return Field<T>(detail::choice_field(
      {name, doc, fallback, detail::place_of(member)}, words.known, words.values, own_value,
      [](void* into, std::int64_t value) { *static_cast<M*>(into) = static_cast<V>(value); }));
}
template <class T, class M>
requires std::is_same_v<detail::Value<M>, std::string> Field<T> choice(
    std::string_view name, M T::*member,
    const std::vector<std::pair<std::string, std::string>>& words, std::string_view doc,
    std::string_view fallback = "") {
  return Field<T>(detail::word_field<M>({name, doc, fallback, detail::place_of(member)}, words,
                                        detail::unset<T>().*member));
}

/// One of some words, kept as it is written. The default is the member's own.
template <class T, class M>
Field<T> word(std::string_view name, M T::*member, const std::vector<std::string>& known,
              std::string_view doc, std::string_view fallback = "") {
  return choice(name, member, detail::as_themselves(known), doc, fallback);
}

/// A mapping of these fields.
template <class T>
ValueInfo mapping_of(const Fields<T>& (*fields)()) {
  return detail::mapping_of_fields(fields);
}

/// A key whose owner reads it itself, since its range or its meaning hangs on others.
template <class T>
Field<T> declared(KeyInfo info) {
  return {std::move(info)};
}

/// A mapping with fields of its own; of a vector a list of such mappings.
template <class T, class M>
Field<T> inside(std::string_view name, M T::*member, const Fields<detail::Value<M>>& (*fields)(),
                std::string_view doc, std::string_view fallback = "none") {
  constexpr auto read =
      std::is_same_v<M, std::vector<detail::Value<M>>> ? detail::list_field : detail::mapping_field;
  return Field<T>(read({name, doc, fallback, detail::place_of(member)}, detail::open<M>, fields));
}

/// A mapping of names that are the user's own, each with a mapping of these fields, in the order
/// written.
/// @param entry  what a name is: "TYPE"
template <class T, class V>
Field<T> by_name(std::string_view name, std::vector<std::pair<std::string, V>> T::*member,
                 std::string_view entry, const Fields<V>& (*fields)(), std::string_view doc,
                 std::string_view fallback = "none") {
  return Field<T>(detail::named_field({name, doc, fallback, detail::place_of(member)},
                                      detail::open_named<V>, fields, entry));
}

/// A mapping whose fields fill the T that has it.
template <class T>
Field<T> group(std::string_view name, const Fields<T>& (*fields)(), std::string_view doc,
               std::string_view fallback = "none") {
  return Field<T>(detail::mapping_field({name, doc, fallback, 0}, detail::open<T>, fields));
}

/// A field of a part of T.
template <class T, class P>
Field<T> part(P T::*member, Field<P> field) {
  field.place += detail::place_of(member);
  return Field<T>(std::move(field));
}

/// What only readers want to know: anything.
template <class T>
Field<T> note(std::string_view name, std::string_view doc) {
  return Field<T>(detail::note_field(name, doc));
}

}  // namespace gradwire::config
