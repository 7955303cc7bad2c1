#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "calibration/trace/trace.hpp"
#include "sim/cli/commands.hpp"

namespace gradwire::cli {

/// What every reading of a trace into a compute profile takes.
struct ProfileOptions {
  std::string output;
  bool report = false;
  std::string model;
  std::string name;
  std::string gpu;
  int batch = 0;
  std::string dtype;
  std::string optimizer;
  std::string iteration;
};
/// Adds its options. `options` must outlive the app.
void add_profile_options(CLI::App& command, ProfileOptions& options);

/// Prints the report, writes the profile, and tells on standard error what the trace lacks and what
/// to know of the profile.
void finish_profile(const calibration::Trace& trace, const ProfileOptions& options,
                    const Context& context);

}  // namespace gradwire::cli
