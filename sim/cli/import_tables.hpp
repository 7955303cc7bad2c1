#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "calibration/import/nccl_tests.hpp"
#include "sim/cli/commands.hpp"

namespace gradwire::cli {

/// What every reading of nccl-tests takes.
struct TableOptions {
  std::string op;
  int ranks = 0;
  int nodes = 0;
  bool in_place = false;
  std::string node;
  std::string gpu;
};
/// Adds its options. `options` must outlive the app.
void add_table_options(CLI::App& command, TableOptions& options);
[[nodiscard]] NcclTestsOptions tests_options(const TableOptions& options);

/// Writes the table and tells the notes on standard error. @param input  it was read from.
void finish_tables(ImportedTables tables, const TableOptions& options, const std::string& output,
                   const std::string& input, const Context& context);

}  // namespace gradwire::cli
