#pragma once

#include <CLI/CLI.hpp>

#include "sim/cli/commands.hpp"

namespace gradwire::cli {

// The parts of `gradwire calibrate` that have a file of their own.
void add_calibrate_fit(CLI::App& calibrate, Context& context);
void add_calibrate_record(CLI::App& calibrate, Context& context);

/// Adds `bench` to `gradwire calibrate`. Both must outlive the parse.
void add_calibrate_bench(CLI::App& calibrate, Context& context);

}  // namespace gradwire::cli
