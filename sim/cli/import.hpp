#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sim/cli/commands.hpp"
#include "topologies/importers/node_parts.hpp"

namespace gradwire::cli {

// Each adds one part of `import`, whose callback does the work. `context` must outlive the app.
void add_import_smi_topo(CLI::App& import, const Context& context);
void add_import_nccl_topo(CLI::App& import, const Context& context);
void add_import_model_table(CLI::App& import, const Context& context);

/// All of a file. @param what  was expected in it, for the message.
/// @throws ConfigError when it cannot be read.
[[nodiscard]] std::string read_text(const std::string& path, const std::string& what);

/// Writes the node and tells what was assumed on standard error.
void finish_node(const ImportedNode& imported, const std::string& output, const Context& context);

}  // namespace gradwire::cli
