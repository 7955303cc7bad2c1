#pragma once

#include "sim/cli/commands.hpp"

namespace gradwire::cli {

/// Adds `bench` to `gradwire calibrate`. Both must outlive the parse.
void add_calibrate_bench(CLI::App& calibrate, Context& context);

}  // namespace gradwire::cli
