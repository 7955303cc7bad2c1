#include "sim/cli/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/cli/signals.hpp"
#include "sim/config/yaml/overlay.hpp"
#include "sim/core/output_file.hpp"

namespace gradwire::cli {
namespace {

constexpr const char* writes_files = "writes files";  ///< a validator's name

bool is_output(const CLI::Option& option) {
  try {
    // CLI11 2.1 has no constant access to validators.
    return const_cast<CLI::Option&>(option).get_validator(writes_files) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

/// What the options of a command and of those below it name.
void collect(const CLI::App& app, std::vector<std::string>& inputs,
             std::vector<const CLI::Option*>& outputs) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    if (is_output(*option)) {
      outputs.push_back(option);
    } else {
      inputs.insert(inputs.end(), option->results().begin(), option->results().end());
    }
  }
  for (const CLI::App* command : app.get_subcommands()) collect(*command, inputs, outputs);
}

}  // namespace

CLI::Validator writable_file() {
  return {[](const std::string& path) -> std::string {
            namespace fs = std::filesystem;
            std::error_code ignored;
            if (path.empty() || path == "-") {
              return fmt::format("'{}' is no file; expected a path (/dev/stdout prints)", path);
            }
            if (fs::is_directory(path, ignored)) return fmt::format("'{}' is a folder", path);
            const fs::path folder = fs::absolute(path).parent_path();
            if (fs::is_directory(folder, ignored)) return "";
            return fmt::format("there is no folder '{}'", folder.string());
          },
          "FILE", writes_files};
}

CLI::Validator writable_path() {
  return {[file = writable_file()](const std::string& path) -> std::string {
            std::error_code ignored;
            if (std::filesystem::is_directory(path, ignored)) return "";
            std::string without_slash = path;
            while (without_slash.size() > 1 && without_slash.ends_with('/')) {
              without_slash.pop_back();
            }
            return file(without_slash);
          },
          "PATH", writes_files};
}

void refuse_overwriting(const CLI::App& app) {
  std::vector<std::string> inputs;
  std::vector<const CLI::Option*> outputs;
  collect(app, inputs, outputs);
  std::map<std::filesystem::path, std::string> written;  // path -> the option that names it
  for (const CLI::Option* output : outputs) {
    for (const std::string& path : output->results()) {
      const bool is_read = std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
        std::error_code ignored;
        return std::filesystem::equivalent(input, path, ignored);
      });
      if (is_read) {
        throw CLI::ValidationError(
            output->get_name(),
            fmt::format("'{}' is also read; expected another file to write", path));
      }
      std::error_code ignored;
      const bool keeps = !std::filesystem::exists(path, ignored) ||
                         std::filesystem::is_regular_file(path, ignored);
      const auto [first, is_new] = written.emplace(
          std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored),
          output->get_name());
      if (keeps && !is_new) {
        throw CLI::ValidationError(
            output->get_name(),
            fmt::format("{} writes '{}', too; expected another file", first->second, path));
      }
    }
  }
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
  // Names are UTF-8 by the time they were read; a file's name may be anything.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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

void add_ignore_memory(CLI::App& command, std::vector<std::string>& sets) {
  command.add_flag_callback(
      "--ignore-memory", [&sets] { sets.emplace_back("run.ignore_memory=true"); },
      "Predict what does not fit the GPUs' memory, too");
}

void add_envs(CLI::App& command, std::vector<std::string>& envs) {
  command
      .add_option("--env", envs,
                  "A variable of the original system, in its own unit, e.g. --env "
                  "HOROVOD_FUSION_THRESHOLD=67108864 (gradwire list variables); may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
}

std::vector<std::string> with_envs(std::vector<std::string> sets,
                                   const std::vector<std::string>& envs) {
  for (const std::string& env : envs) sets.push_back(config::env_option + env);
  return sets;
}

}  // namespace gradwire::cli
