#include "sim/cli/lists.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::cli {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json presets_json() {
  Json list = Json::array();
  for (const config::Preset& preset : config::shipped_presets()) {
    Json entry = {{"name", preset.name},
                  {"kind", "preset"},
                  {"summary", preset.summary},
                  {"strategy", config::to_text(preset.strategy)}};
    if (preset.collective.kind == config::YamlValue::Kind::map) {
      entry["collective"] = config::to_text(preset.collective);
    }
    entry["source"] = preset.source;
    list.push_back(std::move(entry));
  }
  return list;
}

Json variables_json() {
  Json list = Json::array();
  for (const config::OriginalKnob& knob : config::shipped_variables().knobs) {
    list.push_back({{"name", knob.name},
                    {"kind", "variable"},
                    {"summary", fmt::format("{} of {}, in {}", knob.key,
                                            joined_by(knob.strategies, ", "), name_of(knob.unit))},
                    {"key", knob.key},
                    {"strategies", knob.strategies},
                    {"unit", name_of(knob.unit)},
                    {"source", knob.source}});
  }
  for (const config::IdleVariable& variable : config::shipped_variables().idle) {
    list.push_back({{"name", variable.name},
                    {"kind", "variable"},
                    {"summary", fmt::format("no effect here: {}", variable.why)},
                    {"source", variable.source}});
  }
  return list;
}

}  // namespace gradwire::cli
