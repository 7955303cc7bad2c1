#include "sim/cli/lists.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

#include "sim/config/file_kinds.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The keys of the variants, one that several have in the same sense once, with their names.
Json variant_keys(const config::Section& section) {
  Json keys = Json::array();
  for (const config::Variant& variant : section.variants) {
    for (Json& key : options_json(variant.keys)) {
      const auto same = std::find_if(keys.begin(), keys.end(), [&](const Json& known) {
        return std::all_of(key.items().begin(), key.items().end(),
                           [&](const auto& fact) { return known.at(fact.key()) == fact.value(); });
      });
      if (same != keys.end()) {
        (*same)["with"].push_back(variant.name);
        continue;
      }
      key["with"] = {variant.name};
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace

Json keys_json() {
  Json list = Json::array();
  for (const config::Section& section : config::all_sections()) {
    Json keys = options_json(section.keys);
    if (section.variants_in.empty()) {
      for (Json& key : variant_keys(section)) keys.push_back(std::move(key));
    }
    if (section.others) {
      for (Json& key : options_json({*section.others})) keys.push_back(std::move(key));
    }
    list.push_back({{"name", section.name},
                    {"kind", "section"},
                    {"summary", section.summary},
                    {"parameters", std::move(keys)}});
  }
  return list;
}

std::string keys_markdown(const Json& entry) {
  const Json& keys = entry.at("parameters");
  const bool variants =
      std::any_of(keys.begin(), keys.end(), [](const Json& key) { return key.contains("with"); });
  std::string text = variants ? "| key | with | value | default | what it is |\n"
                                "| --- | --- | --- | --- | --- |\n"
                              : "| key | value | default | what it is |\n"
                                "| --- | --- | --- | --- |\n";
  for (const Json& key : keys) {
    const auto cell = [&](const char* name) {
      return markdown_prose(key.at(name).get<std::string>());
    };
    text += fmt::format("| {} |", markdown_code(key.at("name").get<std::string>()));
    if (variants) {
      const auto with = key.value("with", std::vector<std::string>());
      text += fmt::format(" {} |", joined_by(with, ", "));
    }
    text += fmt::format(" {} | {} | {} |\n", cell("value"), cell("default"), cell("source"));
  }
  return text;
}

}  // namespace gradwire::cli
