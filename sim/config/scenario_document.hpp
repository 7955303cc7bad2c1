#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/yaml/overlay.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/result.hpp"

namespace gradwire::config {

/// A scenario's YAML with all overrides in place, without `points` and `vary`.
struct ScenarioDocument {
  std::string label;  ///< of the point, "" for the file itself
  YamlValue yaml;
  std::vector<Warning> warnings{};  ///< what the overrides made meaningless
  /// A strategy that cannot go with the `compression` written here runs without it.
  bool compression_optional = false;
  /// One whose gradients cannot be of the `gradient_dtype` written here exchanges fp32.
  bool gradient_dtype_optional = false;
  std::optional<std::size_t> phase{};  ///< of `elastic`
};

/// Loads a scenario file and puts the command line's "dotted.key=value" into it.
[[nodiscard]] ScenarioDocument load_scenario(const std::string& file,
                                             const std::vector<std::string>& sets);

/// Puts overrides into a document. Where they change the strategy (or the collective library), the
/// former one's own knobs go, unless the overrides set them: `strategy.name: none` needs no list of
/// all that `ddp` had. A warning "knobs-left-out" names them, but for `none`, which has none.
void apply_all(ScenarioDocument& document, const std::vector<Override>& changes);

/// Takes a key out of a mapping, if it is there.
void remove_key(YamlValue& map, const std::string& key);

/// One document a point, or a phase of `elastic`; the file itself when it has neither.
/// @throws ConfigError when the file has `vary`, which only a sweep follows, or both.
[[nodiscard]] std::vector<ScenarioDocument> point_documents(ScenarioDocument document);

/// An axis of a sweep: a dotted key and the values it takes, which live in the document.
struct Axis {
  std::string path;
  SourceLocation where;
  std::vector<const YamlValue*> values;
};
/// The axes of `vary`, in the order written; empty when there is none.
[[nodiscard]] std::vector<Axis> sweep_axes(const YamlValue& document);

/// The document of one combination: dotted keys with values as to_text writes them.
/// REQUIRES: `point` comes from the axes of this document.
[[nodiscard]] ScenarioDocument sweep_document(
    ScenarioDocument document, const std::vector<std::pair<std::string, std::string>>& point);

/// The document as a JSON object, keys sorted: plain scalars that are JSON numbers, booleans or
/// null become those, all else text.
[[nodiscard]] std::string to_json(const YamlValue& document);

/// SHA-256 in hexadecimal.
[[nodiscard]] std::string sha256(const std::string& text);

}  // namespace gradwire::config
