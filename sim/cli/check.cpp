#include "sim/config/check.hpp"

#include <memory>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {

void add_check(CLI::App& app, Context& context) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand(
      "check", "Validate YAML files of any kind; print nothing when they are fine");
  command->add_option("FILE", *files, "Scenario, profile, model, topology, GPU or table (YAML)")
      ->required();
  command->footer(
      "The first error of each file is reported; the exit code is 3 then.\n"
      "Examples:\n"
      "  gradwire check job.yaml\n"
      "  gradwire check scenarios/*.yaml profiles/*/*.yaml");
  command->callback([files, &context] {
    for (const std::string& file : *files) {
      try {
        config::check_file(file);
      } catch (const ConfigError& error) {
        tell("{}\n", error.what());
        context.exit_code = 3;
      }
    }
  });
}

}  // namespace gradwire::cli
