#include "sim/cli/command_line.hpp"

#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/signals.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/refusal.hpp"
#include "sim/report/version.hpp"

namespace gradwire::cli {
namespace {

enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,
  exit_bad_command_line = 2,
  exit_bad_input = 3
};

void build(CLI::App& app, Context& context) {
  app.name("gradwire");
  app.set_version_flag("--version", fmt::format("gradwire {}", gradwire_version),
                       "Print the version and exit");
  app.add_flag("-q,--quiet", context.quiet, "No progress line and no warnings on standard error");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Examples:\n"
      "  gradwire run scenarios/quickstart.yaml\n"
      "  gradwire run scenarios/pytorch_ddp_v100.yaml --json result.json --trace trace.json\n"
      "  gradwire COMMAND --help\n"
      "Exit codes: 0 done, 1 the simulation failed, 2 bad command line, 3 bad input file, 4 no "
      "GPU, 130 interrupted.");
  app.parse_complete_callback([&app] { refuse_overwriting(app); });
  add_run(app, context);
  add_compare(app, context);
  add_sweep(app, context);
  add_collective(app, context);
  add_diff(app, context);
  add_validate(app, context);
  add_check(app, context);
  add_list(app, context);
  add_show(app, context);
  add_import(app, context);
  add_calibrate(app, context);
  add_completions(app, context);
}

std::vector<std::string> command_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// Option names of the command that was being parsed and of those above it.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands()) {
    for (std::string& name : option_names(*command)) names.push_back(std::move(name));
  }
  return names;
}

/// The innermost command that was recognised.
CLI::App& innermost(CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

/// What is wrong with the command line, with the nearest name where one is misspelt.
std::string explain(CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining(true);
  const std::vector<std::string> commands = command_names(innermost(app));
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (extras.empty()) return error.what();
  const std::string& word = extras.front();
  // Whatever else is missing: it may be what was misspelt. What stands behind "--" is no option.
  if (word.starts_with("-") && word != "--") {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option '{}'{}", name, suggestion(name, option_names(app)));
  }
  if (!unknown && commands.empty()) return error.what();
  if (commands.empty()) return fmt::format("unexpected argument '{}'", word);
  return fmt::format("unknown command '{}'; expected one of {}{}", word, joined_by(commands, ", "),
                     suggestion(word, commands));
}

int parse_and_run(CLI::App& app, const Context& context, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      const int code = app.exit(error, std::cout, std::cerr);
      finish_output();
      return code;
    }
    tell("gradwire: {}\nRun with --help for more information.\n", explain(app, error));
    return exit_bad_command_line;
  }
  finish_output();
  return context.exit_code;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  hold_standard_descriptors();
  exit_on_interrupt();
  // A file beyond the limit of its size is an error of writing, not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  Context context;
  CLI::App app{
      "Predicts how fast data-parallel training runs, for every way of communicating gradients."};
  try {
    build(app, context);
    return parse_and_run(app, context, argc, argv);
  } catch (const ConfigError& error) {
    tell("{}\n", error.what());
    return exit_bad_input;
  } catch (const UnsupportedConfiguration& refused) {
    if (!refused.where()) {
      tell("gradwire: {}\n", refused.what());
      return exit_failed;
    }
    tell("{}\n", ConfigError(*refused.where(), refused.what()).what());
    return exit_bad_input;
  } catch (const Interrupted&) {
    return interrupted_code;
  } catch (const std::bad_alloc&) {
    tell("gradwire: out of memory; expected a smaller input, or more memory\n");
    return exit_failed;
  } catch (const std::exception& error) {
    tell("gradwire: {}\n", error.what());
    return exit_failed;
  }
}

}  // namespace gradwire::cli
