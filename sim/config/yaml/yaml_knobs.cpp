#include "sim/config/yaml/yaml_knobs.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/config/strategy/original_knobs.hpp"

namespace gradwire::config {

Bytes YamlKnobs::size(const std::string& name, Bytes fallback, const std::string& /*source*/,
                      Bytes least) {
  return map_.value_or(name, fallback, at_least(least));
}
Seconds YamlKnobs::time(const std::string& name, Seconds fallback, const std::string& /*source*/) {
  return map_.value_or(name, fallback);
}
BytesPerSecond YamlKnobs::rate(const std::string& name, BytesPerSecond fallback,
                               const std::string& /*source*/) {
  return map_.value_or(name, fallback, above(BytesPerSecond{0}));
}
double YamlKnobs::ratio(const std::string& name, double fallback, const std::string& /*source*/) {
  return map_.value_or(name, Ratio{fallback}, between(Ratio{0}, Ratio{1})).value;
}
std::int64_t YamlKnobs::count(const std::string& name, std::int64_t fallback, std::int64_t least,
                              std::int64_t most, const std::string& /*source*/) {
  return map_.value_or(name, fallback, between(least, most));
}
bool YamlKnobs::yes(const std::string& name, bool fallback, const std::string& /*source*/) {
  return map_.value_or(name, fallback);
}
std::string YamlKnobs::text(const std::string& name, const std::string& fallback,
                            const std::string& /*source*/) {
  return map_.value_or(name, fallback);
}
std::string YamlKnobs::choice(const std::string& name, const std::string& fallback,
                              std::span<const std::string> known, const std::string& /*source*/) {
  return fallback.empty() ? map_.require_choice(name, known)
                          : map_.choice_or(name, fallback, known);
}
std::unique_ptr<Knobs> YamlKnobs::group(const std::string& name, const std::string& /*source*/) {
  auto map = map_.optional_map(name);
  return map ? std::make_unique<YamlKnobs>(std::move(*map), warnings_) : nullptr;
}
void YamlKnobs::refuse(const std::string& name, const std::string& message) const {
  map_.fail(name, message);
}
void YamlKnobs::without_effect(const std::string& name, const std::string& why) const {
  const std::string variable = map_.variable_of(name);
  if (variable.empty() || warnings_ == nullptr) {
    Knobs::without_effect(name, why);
  } else {
    warnings_->push_back(variable_without_effect(variable, why));
  }
}

Bytes KnobList::size(const std::string& name, Bytes fallback, const std::string& source,
                     Bytes least) {
  note(name, bound_text(fallback), source, value_info(at_least(least)));
  return fallback;
}
Seconds KnobList::time(const std::string& name, Seconds fallback, const std::string& source) {
  note(name, bound_text(fallback), source, value_info<Seconds>());
  return fallback;
}
BytesPerSecond KnobList::rate(const std::string& name, BytesPerSecond fallback,
                              const std::string& source) {
  note(name, bound_text(fallback), source, value_info(above(BytesPerSecond{0})));
  return fallback;
}
double KnobList::ratio(const std::string& name, double fallback, const std::string& source) {
  note(name, bound_text(Ratio{fallback}), source, value_info(between(Ratio{0}, Ratio{1})));
  return fallback;
}
std::int64_t KnobList::count(const std::string& name, std::int64_t fallback, std::int64_t least,
                             std::int64_t most, const std::string& source) {
  note(name, fmt::format("{}", fallback), source, value_info(between(least, most)));
  return fallback;
}
bool KnobList::yes(const std::string& name, bool fallback, const std::string& source) {
  note(name, fallback ? "true" : "false", source, value_info<bool>());
  return fallback;
}
std::string KnobList::text(const std::string& name, const std::string& fallback,
                           const std::string& source) {
  note(name, fallback, source, value_info<std::string>());
  return fallback;
}
std::string KnobList::choice(const std::string& name, const std::string& fallback,
                             std::span<const std::string> known, const std::string& source) {
  note(name, fallback.empty() ? required : fallback, source, among({known.begin(), known.end()}));
  return fallback.empty() ? known.front() : fallback;
}
std::unique_ptr<Knobs> KnobList::group(const std::string& name, const std::string& source) {
  note(name, "none", source, {.type = ValueInfo::Type::any});
  return nullptr;
}
void KnobList::refuse(const std::string& name, const std::string& message) const {
  throw std::logic_error(fmt::format("the default of '{}' is refused: {}", name, message));
}
void KnobList::note(const std::string& name, std::string fallback, const std::string& source,
                    ValueInfo value) {
  list_.push_back({name, std::move(fallback), source, std::move(value)});
}

}  // namespace gradwire::config
