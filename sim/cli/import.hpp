#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "topologies/importers/node_parts.hpp"

namespace gradwire::cli {

// Each adds one part of `import`, whose callback does the work. `context` must outlive the app.
void add_import_chakra(CLI::App& import, const Context& context);
void add_import_execution_trace(CLI::App& import, const Context& context);
void add_import_kineto(CLI::App& import, const Context& context);
void add_import_nsys(CLI::App& import, const Context& context);
void add_import_smi_topo(CLI::App& import, const Context& context);
void add_import_nccl_topo(CLI::App& import, const Context& context);
void add_import_nccl_tests(CLI::App& import, const Context& context);
void add_import_nccl_log(CLI::App& import, const Context& context);
void add_import_compressors(CLI::App& import);
void add_import_model_table(CLI::App& import, const Context& context);
void add_import_huggingface(CLI::App& import, const Context& context);

/// What every import of a node takes.
struct NodeImport {
  std::string file;
  std::string output;
  std::string name;
  std::string source;
  std::vector<std::string> leave_out;
};
/// Adds its options. @param what  FILE is.
void add_node_options(CLI::App& part, const std::string& what, NodeImport& options);
/// Hands its values to an importer; absent ones are made from the file's name and `what` it is.
template <class Importer>
void fill_in(const NodeImport& options, const std::string& what, Importer& importer) {
  const std::filesystem::path path = options.file;
  importer.name = options.name.empty() ? path.stem().string() : options.name;
  importer.source =
      options.source.empty() ? what + " (" + path.filename().string() + ")" : options.source;
  importer.leave_out = options.leave_out;
}

/// Writes the node and tells what was assumed on standard error.
void finish_node(const ImportedNode& imported, const NodeImport& options, const Context& context);

}  // namespace gradwire::cli
