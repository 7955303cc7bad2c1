#include "sim/config/yaml/yaml_knobs.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/config/strategy/original_knobs.hpp"

namespace gradwire::config {

namespace {

/// What a host takes for a call, or waits before the next one: from a minute on Horovod takes a
/// rank for stalled (stall_inspector.h, stall_warning_time_seconds).
constexpr Seconds knob_time_most{60};

// What may stand at a knob, by the kind of its default.
Range<Seconds> range_of(const AskedKnob& /*knob*/, Seconds /*fallback*/) {
  return between(Seconds{0}, knob_time_most);
}
Range<Bytes> range_of(const AskedKnob& knob, Bytes /*fallback*/) {
  return at_least(Bytes{knob.least});
}
Range<BytesPerSecond> range_of(const AskedKnob& /*knob*/, BytesPerSecond /*fallback*/) {
  return above(BytesPerSecond{0});
}
Range<Ratio> range_of(const AskedKnob& /*knob*/, Ratio /*fallback*/) {
  return between(Ratio{0}, Ratio{1});
}
Range<std::int64_t> range_of(const AskedKnob& knob, std::int64_t /*fallback*/) {
  return between(knob.least, knob.most);
}
template <class T>
Range<T> range_of(const AskedKnob& /*knob*/, const T& /*fallback*/) {
  return {};
}

/// As YAML has it: a share is a ratio there.
template <class T>
const T& as_written(const T& fallback) {
  return fallback;
}
Ratio as_written(KnobShare share) {
  return Ratio{share.value};
}
template <class T>
KnobValue as_knob(T value) {
  return value;
}
KnobValue as_knob(Ratio ratio) {
  return KnobShare{ratio.value};
}

}  // namespace

KnobValue YamlKnobs::ask(const AskedKnob& knob) {
  if (!knob.known.empty()) {
    const auto& fallback = std::get<std::string>(knob.fallback);
    return fallback.empty() ? map_.require_choice(knob.name, knob.known)
                            : map_.choice_or(knob.name, fallback, knob.known);
  }
  return std::visit(
      [&](const auto& fallback) {
        const auto value = as_written(fallback);
        return as_knob(map_.value_or(knob.name, value, range_of(knob, value)));
      },
      knob.fallback);
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

KnobValue KnobList::ask(const AskedKnob& knob) {
  if (!knob.known.empty()) {
    const auto& fallback = std::get<std::string>(knob.fallback);
    list_.push_back({knob.name, fallback.empty() ? required : fallback, knob.source,
                     among({knob.known.begin(), knob.known.end()})});
    return fallback.empty() ? knob.known.front() : fallback;
  }
  std::visit(
      [&](const auto& fallback) {
        const auto value = as_written(fallback);
        list_.push_back(
            {knob.name, value_text(value), knob.source, value_info(range_of(knob, value))});
      },
      knob.fallback);
  return knob.fallback;
}
std::unique_ptr<Knobs> KnobList::group(const std::string& name, const std::string& source) {
  list_.push_back({name, "none", source, {.type = ValueInfo::Type::any}});
  return nullptr;
}
void KnobList::refuse(const std::string& name, const std::string& message) const {
  throw std::logic_error(fmt::format("the default of '{}' is refused: {}", name, message));
}

}  // namespace gradwire::config
