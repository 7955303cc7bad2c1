#pragma once

#include <CLI/CLI.hpp>

namespace gradwire::cli {

/// What the commands share: the global flags, and the exit code of a command that did its work but
/// has something to report (sweep: a point failed).
struct Context {
  bool quiet = false;
  int exit_code = 0;
};

// Each adds one command, whose callback does the work. `context` must outlive the app.
void add_run(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_sweep(CLI::App& app, Context& context);
void add_collective(CLI::App& app, Context& context);
void add_diff(CLI::App& app, Context& context);
void add_validate(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_list(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_calibrate(CLI::App& app, Context& context);
void add_completions(CLI::App& app, Context& context);

}  // namespace gradwire::cli
