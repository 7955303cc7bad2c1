#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {

/// One key of a mapping that fills a T: what it is, and how it is read.
template <class T>
struct Field {
  KeyInfo info;
  /// Asks for the key and puts its value into T; empty where its owner reads it itself.
  std::function<void(YamlMap&, T&)> read{};
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
class Fields {
 public:
  Fields(std::string name, std::string summary, std::vector<Field<T>> fields)
      : name_(std::move(name)), summary_(std::move(summary)), fields_(std::move(fields)) {}

  /// Reads every key, in the order declared; an absent one leaves what `into` has.
  /// @throws ConfigError at the place in the file.
  void read(YamlMap& map, T& into) const {
    std::vector<std::string> names;
    for (const Field<T>& field : fields_) names.push_back(field.info.name);
    map.declare(names);
    for (const Field<T>& field : fields_) {
      if (field.read) field.read(map, into);
    }
  }
  /// The same of a mapping that has no other key.
  void read_all(YamlMap map, T& into) const {
    read(map, into);
    map.finish();
  }

  [[nodiscard]] std::vector<KeyInfo> keys() const {
    std::vector<KeyInfo> keys;
    for (const Field<T>& field : fields_) keys.push_back(field.info);
    return keys;
  }
  [[nodiscard]] Section section() const { return {name_, summary_, keys()}; }

 private:
  std::string name_;
  std::string summary_;
  std::vector<Field<T>> fields_;
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

/// What a T is where nothing is said; once, so that not each of its fields makes one.
template <class T>
const T& unset() {
  static const T value{};
  return value;
}

/// The default that a member has by itself; "none" of one that may be absent.
template <class M>
std::string own_default(const M& member) {
  if constexpr (Holder<M>::one) return value_text(member);
  return "none";
}

/// Reads a V as written in place of a member, which may be absent.
template <class V, class M>
void read_into(YamlMap& map, const KeyInfo& key, const Range<V>& range, M& member) {
  if (key.fallback != required && map.find(key.name) == nullptr) return;
  const V value = map.require<V>(key.name, range);
  if constexpr (std::is_same_v<V, Ratio>) {
    member = value.value;
  } else {
    member = value;
  }
}

}  // namespace detail

/// A key that is a member's value: counts, numbers, quantities, texts, yes or no; of a vector a
/// list of them. An optional or a vector may be absent.
/// @param fallback  `required`, or the default in words where it is not the member's own.
template <class T, class M>
Field<T> field(const std::string& name, M T::*member, const std::string& doc,
               const Range<std::type_identity_t<detail::Value<M>>>& range = {},
               const std::string& fallback = "") {
  using V = detail::Value<M>;
  KeyInfo info{name, fallback, doc, value_info<V>(range)};
  if (fallback.empty()) info.fallback = detail::own_default(detail::unset<T>().*member);
  if constexpr (std::is_same_v<M, std::vector<V>>) {
    info.value = list_of(info.value);
    return {info, [=](YamlMap& map, T& into) {
              if (fallback == required) map.require_value(name, "a list");
              into.*member = map.list<V>(name, range);
            }};
  } else {
    return {info,
            [=](YamlMap& map, T& into) { detail::read_into(map, info, range, into.*member); }};
  }
}

/// A share, written in per cent, kept as a number.
template <class T, class M>
Field<T> share(const std::string& name, M T::*member, const std::string& doc,
               const Range<Ratio>& range, const std::string& fallback = "") {
  KeyInfo info{name, fallback, doc, value_info(range)};
  if constexpr (detail::Holder<M>::one) {
    if (fallback.empty()) info.fallback = bound_text(Ratio{detail::unset<T>().*member});
  } else if (fallback.empty()) {
    info.fallback = "none";
  }
  return {info, [=](YamlMap& map, T& into) { detail::read_into(map, info, range, into.*member); }};
}

/// One of some words, each with what the member is then. The default is the member's own.
template <class T, class M>
Field<T> choice(
    const std::string& name, M T::*member,
    const std::vector<std::pair<std::string, std::type_identity_t<detail::Value<M>>>>& words,
    const std::string& doc, const std::string& fallback = "") {
  std::vector<std::string> known;
  known.reserve(words.size());
  for (const auto& [word, value] : words) known.push_back(word);
  KeyInfo info{name, fallback, doc, among(known)};
  for (const auto& [word, value] : words) {
    if (info.fallback.empty() && detail::unset<T>().*member == value) info.fallback = word;
  }
  return {info, [=](YamlMap& map, T& into) {
            if (fallback != required && map.find(name) == nullptr) return;
            const std::string chosen = map.require_choice(name, known);
            into.*member =
                words[static_cast<std::size_t>(std::ranges::find(known, chosen) - known.begin())]
                    .second;
          }};
}

/// One of some words, kept as it is written. The default is the member's own.
template <class T, class M>
Field<T> word(const std::string& name, M T::*member, const std::vector<std::string>& known,
              const std::string& doc, const std::string& fallback = "") {
  std::vector<std::pair<std::string, std::string>> words;
  words.reserve(known.size());
  for (const std::string& each : known) words.emplace_back(each, each);
  return choice(name, member, words, doc, fallback);
}

/// A mapping of these fields.
template <class T>
ValueInfo mapping_of(const Fields<T>& (*fields)()) {
  return mapping_of([fields] { return fields().section(); });
}

/// A key whose owner reads it itself, since its range or its meaning hangs on others.
template <class T>
Field<T> declared(KeyInfo info) {
  return {std::move(info)};
}

/// A mapping with fields of its own; of a vector a list of such mappings.
template <class T, class M>
Field<T> inside(const std::string& name, M T::*member, const Fields<detail::Value<M>>& (*fields)(),
                const std::string& doc, const std::string& fallback = "none") {
  using V = detail::Value<M>;
  KeyInfo info{name, fallback, doc, mapping_of(fields)};
  if constexpr (std::is_same_v<M, std::vector<V>>) {
    info.value = list_of(info.value);
    return {info, [=](YamlMap& map, T& into) {
              if (fallback == required) map.require_value(name, "a list");
              for (YamlMap& item : map.maps(name)) {
                fields().read_all(std::move(item), (into.*member).emplace_back());
              }
            }};
  } else {
    return {info, [=](YamlMap& map, T& into) {
              auto inner = fallback == required ? std::optional(map.require_map(name))
                                                : map.optional_map(name);
              if (!inner) return;
              V value{};
              if constexpr (detail::Holder<M>::one) value = into.*member;
              fields().read_all(std::move(*inner), value);
              into.*member = std::move(value);
            }};
  }
}

/// A mapping of names that are the user's own, each with a mapping of these fields, in the order
/// written.
/// @param entry  what a name is: "TYPE"
template <class T, class V>
Field<T> by_name(const std::string& name, std::vector<std::pair<std::string, V>> T::*member,
                 const std::string& entry, const Fields<V>& (*fields)(), const std::string& doc,
                 const std::string& fallback = "none") {
  const auto section = [=] {
    return Section{
        .name = name,
        .summary = doc,
        .keys = {},
        .others = KeyInfo{entry, "none", fields().section().summary, mapping_of(fields)}};
  };
  return {{name, fallback, doc, mapping_of(section)}, [=](YamlMap& map, T& into) {
            auto all = fallback == required ? std::optional(map.require_map(name))
                                            : map.optional_map(name);
            if (!all) return;
            for (const std::string& key : all->keys()) {
              auto& [each, value] = (into.*member).emplace_back(key, V{});
              fields().read_all(all->require_map(each), value);
            }
          }};
}

/// A mapping whose fields fill the T that has it.
template <class T>
Field<T> group(const std::string& name, const Fields<T>& (*fields)(), const std::string& doc,
               const std::string& fallback = "none") {
  return {{name, fallback, doc, mapping_of(fields)}, [=](YamlMap& map, T& into) {
            auto inner = fallback == required ? std::optional(map.require_map(name))
                                              : map.optional_map(name);
            if (inner) fields().read_all(std::move(*inner), into);
          }};
}

/// A field of a part of T.
template <class T, class P>
Field<T> part(P T::*member, Field<P> field) {
  return {std::move(field.info), [member, read = std::move(field.read)](YamlMap& map, T& into) {
            read(map, into.*member);
          }};
}

/// What only readers want to know: anything.
template <class T>
Field<T> note(const std::string& name, const std::string& doc) {
  return {{name, "none", doc, {.type = ValueInfo::Type::any}},
          [name](YamlMap& map, T& /*into*/) { map.find(name); }};
}

}  // namespace gradwire::config
