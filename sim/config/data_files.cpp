#include "sim/config/data_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <system_error>

#include "sim/core/joined_by.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::config {
namespace {

namespace fs = std::filesystem;

struct Shelf {
  const char* folder;
  const char* list;  ///< what `gradwire list` calls it; null where it shows none
};

Shelf shelf(DataKind kind) {
  switch (kind) {
    case DataKind::gpu:
      return {"profiles/gpus", "gpus"};
    case DataKind::node:
      return {"topologies/nodes", "topologies"};
    case DataKind::cluster:
      return {"topologies/clusters", "topologies"};
    case DataKind::collective_table:
      return {"profiles/collectives", "collectives"};
    case DataKind::efficiencies:
      return {"profiles/efficiencies", "gpus"};
    case DataKind::compressor_costs:
      return {"profiles/compressors", nullptr};
    case DataKind::constants:
      return {"profiles/libraries", nullptr};
    case DataKind::profile:
      break;
  }
  return {"profiles", "profiles"};
}

bool is_yaml(const fs::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

/// profiles/ also holds shelves of other kinds.
bool belongs(DataKind kind, const std::string& name) {
  return kind != DataKind::profile ||
         !(name.starts_with("gpus/") || name.starts_with("collectives/") ||
           name.starts_with("efficiencies/") || name.starts_with("compressors/") ||
           name.starts_with("libraries/") || name.starts_with("tables/"));
}

/// A name leads nowhere but into its shelf.
bool stays_inside(const fs::path& name) {
  return name.is_relative() && std::ranges::find(name, fs::path("..")) == name.end();
}

}  // namespace

fs::path data_folder() {
  if (const char* folder = std::getenv("GRADWIRE_DATA"); folder != nullptr && *folder != '\0') {
    return folder;
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path installed = program.parent_path().parent_path() / "share/gradwire";
  if (!error && fs::is_directory(installed, error)) return installed;
  return GRADWIRE_SOURCE_DATA;
}

std::vector<std::string> data_names(DataKind kind) {
  const fs::path folder = data_folder() / shelf(kind).folder;
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error) || entry->path().extension() != ".yaml") continue;
    std::string name = entry->path().lexically_relative(folder).replace_extension().string();
    if (belongs(kind, name)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

bool is_data(DataKind kind, const std::string& name) {
  std::error_code error;
  return stays_inside(name) && belongs(kind, name) &&
         fs::is_regular_file(data_file(kind, name), error);
}

std::string require_data(YamlMap& map, const std::string& key, DataKind kind) {
  const YamlValue* value = map.find(key);
  if (value == nullptr || !is_data(kind, value->text)) {
    return map.require_choice(key, data_names(kind));
  }
  return map.require_choice(key, std::span(&value->text, 1));
}

fs::path data_file(DataKind kind, const std::string& name) {
  return data_folder() / shelf(kind).folder / (name + ".yaml");
}

std::string find_data(DataKind kind, const YamlValue& value, const std::string& key) {
  std::error_code error;
  if (value.kind == YamlValue::Kind::scalar && is_yaml(value.text)) {
    for (const fs::path& file :
         {fs::path(value.where.file).parent_path() / value.text, fs::path(value.text)}) {
      if (fs::is_regular_file(file, error)) return file.string();
    }
    throw ConfigError(value.where,
                      fmt::format("'{}' is '{}', which is not there; expected a YAML file{}", key,
                                  value.text, file_suggestion(value.text)));
  }
  const fs::path file = data_file(kind, value.text);
  if (value.kind == YamlValue::Kind::scalar && stays_inside(value.text) &&
      fs::is_regular_file(file, error)) {
    return file.string();
  }
  const std::vector<std::string> names = data_names(kind);
  const char* list = shelf(kind).list;
  throw ConfigError(
      value.where,
      fmt::format("'{}' is {}; expected {} or a path to a .yaml file{}", key, describe(value),
                  list == nullptr ? fmt::format("one of {}", joined_by(names, ", "))
                                  : fmt::format("a name that 'gradwire list {}' shows", list),
                  suggestion(value.text, names)));
}

}  // namespace gradwire::config
