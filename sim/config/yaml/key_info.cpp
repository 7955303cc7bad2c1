#include "sim/config/yaml/key_info.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

using Type = ValueInfo::Type;

template <class V>
constexpr Type type_of() {
  if constexpr (std::is_same_v<V, bool>) return Type::yes_no;
  if constexpr (std::is_integral_v<V>) return Type::whole;
  if constexpr (std::is_floating_point_v<V>) return Type::number;
  if constexpr (std::is_same_v<V, Seconds>) return Type::time;
  if constexpr (std::is_same_v<V, Bytes>) return Type::size;
  if constexpr (std::is_same_v<V, BytesPerSecond>) return Type::rate;
  if constexpr (std::is_same_v<V, Hertz>) return Type::clock;
  if constexpr (std::is_same_v<V, Watts>) return Type::power;
  if constexpr (std::is_same_v<V, Ratio>) return Type::share;
  return Type::text;
}

const char* type_name(Type type) {
  switch (type) {
    case Type::text:
      return "text";
    case Type::yes_no:
      return "`true`, `false`";
    case Type::whole:
      return "count";
    case Type::number:
      return "number";
    case Type::time:
      return "time";
    case Type::size:
      return "size";
    case Type::rate:
      return "rate";
    case Type::clock:
      return "clock";
    case Type::power:
      return "power";
    case Type::share:
      return "share";
    case Type::formula:
      return "count or formula";
    default:
      return "any";
  }
}

template <class V>
std::string range_text(const Range<V>& range) {
  if (range.least && range.most) {
    return fmt::format("{} to {}", value_text(*range.least), value_text(*range.most));
  }
  std::vector<std::string> bounds;
  if (range.above) bounds.push_back("above " + value_text(*range.above));
  if (range.least) bounds.push_back("at least " + value_text(*range.least));
  if (range.most) bounds.push_back("at most " + value_text(*range.most));
  return joined_by(bounds, ", ");
}

}  // namespace

template <class V>
ValueInfo value_info([[maybe_unused]] const Range<V>& range) {
  ValueInfo value{.type = type_of<V>(), .units = Written<V>::units()};
  if constexpr (!std::is_same_v<V, std::string>) value.range = range_text(range);
  if constexpr (std::is_arithmetic_v<V>) {
    const auto number = [](const std::optional<V>& bound) {
      return bound ? std::optional(static_cast<double>(*bound)) : std::nullopt;
    };
    value.above = number(range.above);
    value.least = number(range.least);
    value.most = number(range.most);
  }
  return value;
}
template ValueInfo value_info(const Range<std::string>&);
template ValueInfo value_info(const Range<bool>&);
template ValueInfo value_info(const Range<int>&);
template ValueInfo value_info(const Range<std::int64_t>&);
template ValueInfo value_info(const Range<std::uint64_t>&);
template ValueInfo value_info(const Range<double>&);
template ValueInfo value_info(const Range<Seconds>&);
template ValueInfo value_info(const Range<Bytes>&);
template ValueInfo value_info(const Range<BytesPerSecond>&);
template ValueInfo value_info(const Range<Hertz>&);
template ValueInfo value_info(const Range<Watts>&);
template ValueInfo value_info(const Range<Ratio>&);

ValueInfo among(std::vector<std::string> choices) {
  return {.type = Type::choice, .choices = std::move(choices)};
}

ValueInfo mapping_of(std::function<Section()> section) {
  return {.type = Type::section, .section = std::move(section)};
}

ValueInfo list_of(ValueInfo value) {
  if (!value.or_else.empty()) return {.list = true, .item = {std::move(value)}};
  value.list = true;
  return value;
}

ValueInfo either(ValueInfo value, ValueInfo other) {
  value.or_else.push_back(std::move(other));
  return value;
}

std::string describe(const ValueInfo& value) {
  std::string text = !value.item.empty() ? describe(value.item.front())
                     : value.type == Type::choice
                         ? fmt::format("`{}`", joined_by(value.choices, "`, `"))
                     : value.type == Type::section ? fmt::format("`{}`", value.section().name)
                                                   : type_name(value.type);
  if (!value.range.empty()) text += ", " + value.range;
  if (value.list) text = "list of " + text;
  for (const ValueInfo& other : value.or_else) text += "; or " + describe(other);
  return text;
}

}  // namespace gradwire::config
