#include "sim/cli/point_key.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/config/scenario_document.hpp"
#include "sim/core/text_file.hpp"
#include "sim/engine/simgrid_transport.hpp"
#include "sim/report/version.hpp"

namespace gradwire::cli {

std::string program_identity() {
  const char* const file = "/proc/self/exe";
  std::string program(std::filesystem::file_size(file), '\0');  // tens of megabytes: read at once
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(program.data(), static_cast<std::streamsize>(program.size()))) {
    fail_unreadable(file, "the program's own file");
  }
  return fmt::format("gradwire {} {} SimGrid {}", gradwire_version, config::sha256(program),
                     simgrid_version());
}

std::string point_key(const std::string& program, const config::Scenario& scenario,
                      const std::map<std::string, std::string>& digests) {
  std::set<std::string> contents;
  for (const auto& [file, digest] : digests) contents.insert(digest);
  nlohmann::ordered_json warnings = nlohmann::ordered_json::array();
  for (const Warning& warning : scenario.warnings) warnings.push_back(warning.text);
  const nlohmann::ordered_json all = {{"files", contents},
                                      {"name", scenario.name},
                                      {"program", program},
                                      {"scenario", scenario.json},
                                      {"warnings", warnings}};
  return config::sha256(all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace gradwire::cli
