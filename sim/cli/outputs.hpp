#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gradwire::cli {

/// Accepts a path that a file can be written to: its folder exists and it is no folder itself.
[[nodiscard]] CLI::Validator writable_file();

/// The same, and a folder or the name of one to be made.
[[nodiscard]] CLI::Validator writable_path();

/// Refuses a command line that names one file to be read and to be written.
/// @throws CLI::ValidationError
void refuse_overwriting(const CLI::App& app);

/// A file that a command was asked for: nothing is made of it when `path` is "".
struct Output {
  std::string path;
  std::function<std::string()> content;
};

/// Makes all contents first, then writes the files, undisturbed by SIGINT.
/// @throws std::runtime_error when one cannot be written.
void write_outputs(const std::vector<Output>& outputs);

/// As the files hold it: indented by 2, a line end at the end. What is not UTF-8 is replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

/// The same in one line without its end.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);

/// Adds --set to a command that reads a scenario.
void add_sets(CLI::App& command, std::vector<std::string>& sets);
/// --ignore-memory, which overrides `run.ignore_memory`.
void add_ignore_memory(CLI::App& command, std::vector<std::string>& sets);

/// Adds --env, for the original systems' own variables.
void add_envs(CLI::App& command, std::vector<std::string>& envs);

/// Overrides with those of --env behind them: NAME=VALUE sets `strategy.NAME`.
[[nodiscard]] std::vector<std::string> with_envs(std::vector<std::string> sets,
                                                 const std::vector<std::string>& envs);

}  // namespace gradwire::cli
