#include "sim/cli/outputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/cli/signals.hpp"
#include "sim/report/output_file.hpp"

namespace gradwire::cli {

CLI::Validator writable_file() {
  return {[](const std::string& path) -> std::string {
            namespace fs = std::filesystem;
            std::error_code ignored;
            if (fs::is_directory(path, ignored)) return fmt::format("'{}' is a folder", path);
            const fs::path folder = fs::absolute(path).parent_path();
            if (fs::is_directory(folder, ignored)) return "";
            return fmt::format("there is no folder '{}'", folder.string());
          },
          "FILE"};
}

void write_outputs(const std::vector<Output>& outputs) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Output& output : outputs) {
    if (!output.path.empty()) files.emplace_back(output.path, output.content());
  }
  const InterruptsHeld held;
  for (const auto& [path, content] : files) write_file(path, content);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2) + '\n';
}

void add_sets(CLI::App& command, std::vector<std::string>& sets) {
  command
      .add_option("--set", sets,
                  "Override a key of the scenario, e.g. --set strategy.bucket_cap='1 MiB'; may be "
                  "repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

}  // namespace gradwire::cli
