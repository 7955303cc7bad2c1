#pragma once

#include "sim/cli/commands.hpp"

namespace gradwire::cli {

/// Adds `import model-table`: a table of layers that another tool printed, into gradwire.model/1.
void add_import_model_table(CLI::App& import, Context& context);

}  // namespace gradwire::cli
