#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/import/nccl_log.hpp"
#include "calibration/import/nccl_tests.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/import_tables.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> files;
  std::string output;
  std::string log;
  TableOptions table;
};

/// A log is what a terminal showed, and ranks write into each other's lines.
std::string read_log_text(const std::string& file) {
  return read_text_file(file, "a log of NCCL", log_bytes, Controls::terminal);
}

void import_tests(const ImportOptions& options, const Context& context) {
  const NcclTestsOptions how = tests_options(options.table);
  std::vector<ImportedTables> files;
  for (const std::string& file : options.files) {
    files.push_back(read_nccl_tests(
        read_text_file(file, "the output of nccl-tests", table_bytes, Controls::terminal), file,
        how));
  }
  ImportedTables tables = merge_files(std::move(files));
  if (!options.log.empty()) {
    const NcclLog log = read_nccl_log(read_log_text(options.log), options.log);
    const int without = name_choices(log, tables.series);
    if (without > 0) {
      tables.notes.push_back(fmt::format("{} rows for whose size the log has no choice", without));
    }
  }
  finish_tables(std::move(tables), options.table, options.output, options.files.front(), context);
}

void import_log(const ImportOptions& options, const Context& context) {
  const std::string& file = options.files.front();
  const NcclLog log = read_nccl_log(read_log_text(file), file);
  finish_tables(tables_of(log, file, tests_options(options.table)), options.table, options.output,
                file, context);
}

void add_output(CLI::App& command, ImportOptions& options) {
  command.add_option("-o,--output", options.output, "Collective table to write (YAML)")
      ->required()
      ->check(writable_file());
}

}  // namespace

void add_table_options(CLI::App& command, TableOptions& options) {
  std::vector<std::string> operations;
  for (const CollectiveKind kind : collective_kinds()) operations.emplace_back(name_of(kind));
  command.add_option("--op", options.op, "Operation, in place of the one that the file names")
      ->check(one_of(operations));
  command.add_option("--ranks", options.ranks, "Ranks, in place of those that the file lists")
      ->check(CLI::Range(2, 1'000'000));
  command.add_option("--nodes", options.nodes, "Nodes, in place of those that the file lists")
      ->check(CLI::Range(1, 1'000'000));
  command.add_flag("--in-place", options.in_place, "Take the in-place times (default: the others)");
  command.add_option("--node", options.node, "Node type, for the reader of the table");
  command.add_option("--gpu", options.gpu, "GPU, for the reader of the table");
}

NcclTestsOptions tests_options(const TableOptions& options) {
  NcclTestsOptions how;
  if (!options.op.empty()) how.op = collective_kind(options.op);
  how.ranks = options.ranks;
  how.nodes = options.nodes;
  how.in_place = options.in_place;
  return how;
}

void finish_tables(ImportedTables tables, const TableOptions& options, const std::string& output,
                   const std::string& input, const Context& context) {
  CollectiveTable table;
  table.library = "nccl";
  table.node = options.node;
  table.gpu = options.gpu;
  table.series = std::move(tables.series);
  write_outputs({{output, [&] {
                    return config::checked(config::write_collective_table(table), output, input);
                  }}});
  if (context.quiet) return;
  for (const std::string& note : tables.notes) tell("{}\n", note);
}

void add_import_nccl_tests(CLI::App& import, const Context& context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = import.add_subcommand(
      "nccl-tests", "The output of nccl-tests, text or JSON, into a collective table");
  command->add_option("FILE", options->files, "Outputs of nccl-tests; repeats give the median")
      ->required();
  add_output(*command, *options);
  add_table_options(*command, options->table);
  command->add_option("--nccl-log", options->log,
                      "Log of NCCL (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING) that "
                      "names algorithm, protocol and channels of each size");
  command->footer(
      "Examples:\n"
      "  all_reduce_perf -b 1K -e 1G -f 2 -g 8 > reduce.txt\n"
      "  gradwire import nccl-tests reduce.txt -o table.yaml\n"
      "  gradwire import nccl-tests reduce.txt --nccl-log nccl.log -o table.yaml");
  command->callback([options, &context] { import_tests(*options, context); });
}

void add_import_nccl_log(CLI::App& import, const Context& context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = import.add_subcommand(
      "nccl-log", "What NCCL chose and predicted, from its log, into a collective table");
  command->add_option("FILE", options->files, "Log of NCCL")->required()->expected(1);
  add_output(*command, *options);
  add_table_options(*command, options->table);
  command->footer(
      "The times are NCCL's own predictions: printed up to 2.22, later from its tuning table.\n"
      "Example:\n"
      "  NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING all_reduce_perf -g 8 > nccl.log\n"
      "  gradwire import nccl-log nccl.log --op all_reduce --ranks 8 --nodes 1 -o table.yaml");
  command->callback([options, &context] { import_log(*options, context); });
}

}  // namespace gradwire::cli
