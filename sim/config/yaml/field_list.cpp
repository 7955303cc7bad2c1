#include "sim/config/yaml/field_list.hpp"

#include <algorithm>
#include <type_traits>

namespace gradwire::config {
namespace {

KeyInfo key_info(const detail::Declared& key, ValueInfo value) {
  return {std::string(key.name), std::string(key.fallback), std::string(key.doc), std::move(value)};
}

/// A key of one word of these. @param puts  puts that of an index into the member.
AnyField field_of_words(const detail::Declared& key, std::vector<std::string> known,
                        std::optional<std::size_t> own,
                        std::function<void(void* member, std::size_t chosen)> puts) {
  AnyField field(key_info(key, among(std::move(known))), key.place);
  if (key.fallback.empty() && own) field.info.fallback = field.info.value.choices.at(*own);
  field.reads = [puts = std::move(puts)](YamlMap& map, const KeyInfo& info, void* member) {
    if (info.fallback != required && map.find(info.name) == nullptr) return;
    const std::vector<std::string>& words = info.value.choices;
    const std::string chosen = map.require_choice(info.name, words);
    puts(member, static_cast<std::size_t>(std::ranges::find(words, chosen) - words.begin()));
  };
  return field;
}

/// Where a value stands among others.
template <class V, class M>
std::optional<std::size_t> index_of(const std::vector<V>& values, const M& value) {
  const auto at = std::ranges::find_if(values, [&](const V& each) { return value == each; });
  if (at == values.end()) return std::nullopt;
  return static_cast<std::size_t>(at - values.begin());
}

std::optional<YamlMap> map_of(YamlMap& map, const KeyInfo& key) {
  return key.fallback == required ? std::optional(map.require_map(key.name))
                                  : map.optional_map(key.name);
}

}  // namespace

void AnyField::read_into(YamlMap& map, void* object) const {
  if (reads) reads(map, info, static_cast<char*>(object) + place);
}

void FieldList::read_into(YamlMap& map, void* object) const {
  map.declare(names_);
  for (const AnyField& field : fields_) field.read_into(map, object);
}

void FieldList::read_all_into(YamlMap map, void* object) const {
  read_into(map, object);
  map.finish();
}

std::vector<KeyInfo> FieldList::keys() const {
  std::vector<KeyInfo> keys;
  for (const AnyField& field : fields_) keys.push_back(field.info);
  return keys;
}

namespace detail {

template <class M>
AnyField value_field(const Declared& key, const Range<Value<M>>& range, const M& own) {
  using V = Value<M>;
  AnyField field(key_info(key, value_info<V>(range)), key.place);
  if constexpr (std::is_same_v<M, std::vector<V>>) {
    field.info.value = list_of(field.info.value);
    field.reads = [range](YamlMap& map, const KeyInfo& info, void* member) {
      if (info.fallback == required) map.require_value(info.name, "a list");
      *static_cast<M*>(member) = map.list<V>(info.name, range);
    };
  } else {
    field.reads = [range](YamlMap& map, const KeyInfo& info, void* member) {
      if (info.fallback != required && map.find(info.name) == nullptr) return;
      *static_cast<M*>(member) = map.require<V>(info.name, range);
    };
  }
  if (!key.fallback.empty()) return field;
  if constexpr (Holder<M>::one) {
    field.info.fallback = value_text(own);
  } else {
    field.info.fallback = "none";
  }
  return field;
}

template <class M>
AnyField share_field(const Declared& key, const Range<Ratio>& range, const M& own) {
  AnyField field(key_info(key, value_info(range)), key.place);
  field.reads = [range](YamlMap& map, const KeyInfo& info, void* member) {
    if (info.fallback != required && map.find(info.name) == nullptr) return;
    *static_cast<M*>(member) = map.require<Ratio>(info.name, range).value;
  };
  if (!key.fallback.empty()) return field;
  if constexpr (Holder<M>::one) {
    field.info.fallback = bound_text(Ratio{own});
  } else {
    field.info.fallback = "none";
  }
  return field;
}

template <class M>
AnyField word_field(const Declared& key,
                    const std::vector<std::pair<std::string, std::string>>& words, const M& own) {
  std::vector<std::string> known;
  std::vector<std::string> meant;
  for (const auto& [word, meaning] : words) {
    known.push_back(word);
    meant.push_back(meaning);
  }
  const auto own_index = index_of(meant, own);
  return field_of_words(key, std::move(known), own_index,
                        [meant = std::move(meant)](void* member, std::size_t chosen) {
                          *static_cast<M*>(member) = meant[chosen];
                        });
}

std::vector<std::pair<std::string, std::string>> as_themselves(
    const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> all;
  all.reserve(words.size());
  for (const std::string& word : words) all.emplace_back(word, word);
  return all;
}

AnyField choice_field(const Declared& key, std::vector<std::string> known,
                      std::vector<std::int64_t> values, std::optional<std::int64_t> own,
                      void (*puts)(void* member, std::int64_t value)) {
  const auto own_index = index_of(values, own);
  return field_of_words(key, std::move(known), own_index,
                        [values = std::move(values), puts](void* member, std::size_t chosen) {
                          puts(member, values[chosen]);
                        });
}

AnyField note_field(std::string_view name, std::string_view doc) {
  return AnyField(key_info({name, doc, "none", 0}, {.type = ValueInfo::Type::any}), 0,
                  [](YamlMap& map, const KeyInfo& info, void* /*member*/) { map.find(info.name); });
}

ValueInfo mapping_of_fields(FieldsMaker fields) {
  return mapping_of([fields = std::move(fields)] { return fields().section(); });
}

AnyField mapping_field(const Declared& key, Opens opens, FieldsMaker fields) {
  AnyField field(key_info(key, mapping_of_fields(fields)), key.place);
  field.reads = [opens, fields = std::move(fields)](YamlMap& map, const KeyInfo& info,
                                                    void* member) {
    auto inner = map_of(map, info);
    if (inner) fields().read_all_into(std::move(*inner), opens(member, info.name));
  };
  return field;
}

AnyField list_field(const Declared& key, Opens opens, FieldsMaker fields) {
  AnyField field(key_info(key, list_of(mapping_of_fields(fields))), key.place);
  field.reads = [opens, fields = std::move(fields)](YamlMap& map, const KeyInfo& info,
                                                    void* member) {
    if (info.fallback == required) map.require_value(info.name, "a list");
    for (YamlMap& item : map.maps(info.name)) {
      fields().read_all_into(std::move(item), opens(member, info.name));
    }
  };
  return field;
}

AnyField named_field(const Declared& key, Opens opens, FieldsMaker fields, std::string_view entry) {
  auto section = [name = std::string(key.name), doc = std::string(key.doc),
                  entry = std::string(entry), fields] {
    return Section{
        .name = name,
        .summary = doc,
        .keys = {},
        .others = KeyInfo{entry, "none", fields().section().summary, mapping_of_fields(fields)}};
  };
  AnyField field(key_info(key, mapping_of(std::move(section))), key.place);
  field.reads = [opens, fields = std::move(fields)](YamlMap& map, const KeyInfo& info,
                                                    void* member) {
    auto all = map_of(map, info);
    if (!all) return;
    for (const std::string& name : all->keys()) {
      fields().read_all_into(all->require_map(name), opens(member, name));
    }
  };
  return field;
}

template AnyField value_field(const Declared&, const Range<std::string>&, const std::string&);
template AnyField value_field(const Declared&, const Range<bool>&, const bool&);
template AnyField value_field(const Declared&, const Range<int>&, const int&);
template AnyField value_field(const Declared&, const Range<std::int64_t>&, const std::int64_t&);
template AnyField value_field(const Declared&, const Range<std::uint64_t>&, const std::uint64_t&);
template AnyField value_field(const Declared&, const Range<double>&, const double&);
template AnyField value_field(const Declared&, const Range<Seconds>&, const Seconds&);
template AnyField value_field(const Declared&, const Range<Bytes>&, const Bytes&);
template AnyField value_field(const Declared&, const Range<BytesPerSecond>&, const BytesPerSecond&);
template AnyField value_field(const Declared&, const Range<Hertz>&, const Hertz&);
template AnyField value_field(const Declared&, const Range<Watts>&, const Watts&);
template AnyField value_field(const Declared&, const Range<std::string>&,
                              const std::optional<std::string>&);
template AnyField value_field(const Declared&, const Range<bool>&, const std::optional<bool>&);
template AnyField value_field(const Declared&, const Range<int>&, const std::optional<int>&);
template AnyField value_field(const Declared&, const Range<std::int64_t>&,
                              const std::optional<std::int64_t>&);
template AnyField value_field(const Declared&, const Range<double>&, const std::optional<double>&);
template AnyField value_field(const Declared&, const Range<Seconds>&,
                              const std::optional<Seconds>&);
template AnyField value_field(const Declared&, const Range<BytesPerSecond>&,
                              const std::optional<BytesPerSecond>&);
template AnyField value_field(const Declared&, const Range<std::string>&,
                              const std::vector<std::string>&);
template AnyField value_field(const Declared&, const Range<int>&, const std::vector<int>&);
template AnyField value_field(const Declared&, const Range<std::int64_t>&,
                              const std::vector<std::int64_t>&);
template AnyField value_field(const Declared&, const Range<double>&, const std::vector<double>&);
template AnyField share_field(const Declared&, const Range<Ratio>&, const double&);
template AnyField share_field(const Declared&, const Range<Ratio>&, const std::optional<double>&);
template AnyField word_field(const Declared&,
                             const std::vector<std::pair<std::string, std::string>>&,
                             const std::string&);
template AnyField word_field(const Declared&,
                             const std::vector<std::pair<std::string, std::string>>&,
                             const std::optional<std::string>&);

}  // namespace detail
}  // namespace gradwire::config
