#include "sim/validation/expected_misses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/validation/series.hpp"

namespace gradwire::validation {
namespace {

constexpr const char* misses_file = "expected_misses.yaml";  ///< in results/reference

/// The whole file.
struct MissList {
  std::vector<ExpectedMiss> misses;
};

const config::Fields<ExpectedMiss>& expected_miss_fields() {
  static const config::Fields<ExpectedMiss> fields = {
      "expected_miss",
      "a gate that is known to be missed",
      {config::field("series", &ExpectedMiss::series, "whose gate", {}, config::required),
       config::field("gate", &ExpectedMiss::gate, "its name", {}, config::required),
       config::field("why", &ExpectedMiss::why, "is known of it", {}, config::required)}};
  return fields;
}

const config::Fields<MissList>& miss_list_fields() {
  static const config::Fields<MissList> fields = {
      "expected_misses",
      "gates that are known to be missed",
      {config::inside("misses", &MissList::misses, expected_miss_fields, "each",
                      config::required)}};
  return fields;
}

}  // namespace

std::vector<ExpectedMiss> read_expected_misses(const config::YamlValue& document) {
  config::YamlMap map(document);
  map.require_schema("gradwire.expected_misses/1");
  MissList list;
  miss_list_fields().read_all(std::move(map), list);
  return list.misses;
}

const std::vector<ExpectedMiss>& expected_misses() {
  static const std::vector<ExpectedMiss> misses =
      read_expected_misses(config::loaded_yaml(reference_file(misses_file)));
  return misses;
}

std::vector<std::string> unexpected(std::span<const SeriesReport> reports,
                                    std::span<const ExpectedMiss> expected) {
  std::vector<std::string> found;
  const auto say = [&](const std::string& series, const std::string& gate, const char* what) {
    found.push_back(fmt::format("{}: gate '{}' {}", series, gate, what));
  };
  for (const SeriesReport& report : reports) {
    for (const Gate& gate : report.gates) {
      const bool miss_expected = std::ranges::any_of(expected, [&](const ExpectedMiss& miss) {
        return miss.series == report.name && miss.gate == gate.name;
      });
      if (!gate.met() && !miss_expected) say(report.name, gate.name, "is missed");
      if (gate.met() && miss_expected)
        say(report.name, gate.name, "is met; expected_misses.yaml expects a miss");
    }
    for (const ExpectedMiss& miss : expected) {
      if (miss.series == report.name &&
          std::ranges::find(report.gates, miss.gate, &Gate::name) == report.gates.end()) {
        say(report.name, miss.gate, "of expected_misses.yaml is none of the series");
      }
    }
  }
  return found;
}

}  // namespace gradwire::validation
