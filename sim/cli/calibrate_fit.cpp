#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/fit_report.hpp"
#include "sim/cli/calibrate.hpp"
#include "sim/cli/calibrate_node.hpp"
#include "sim/cli/collective_fits.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {
namespace {

struct FitCommand {
  NodeFit node;  ///< its folder is "" where tables are fitted by themselves
  std::vector<std::string> collectives;
  std::string from = "1MiB";
  TableOptions table;
};

void fit_tables(const FitCommand& options, const Context& context) {
  const Measured measured = read_measured(options.node.cluster, options.node.sets);
  std::vector<std::string> notes;
  CollectiveTable table = read_tables(options.collectives, options.table, notes);
  const std::vector<FitSample> samples = read_samples(table, measured, notes);
  if (samples.empty()) {
    throw ConfigError({options.node.cluster, 1, 1},
                      fmt::format("no measurement fits the cluster: {}; expected the cluster that "
                                  "was measured",
                                  notes.back()));
  }
  table.fits = fit_all(samples);
  write_outputs({{options.node.output, [&] {
                    return config::checked(config::write_collective_table(table),
                                           options.node.output, options.collectives.front());
                  }}});
  print_text(error_table(samples, options.node.folds, parse_sizes(options.from).front()) + '\n' +
             segment_table(table.fits, samples));
  if (context.quiet) return;
  for (const std::string& note : notes) tell("{}\n", note);
}

void fit(const FitCommand& options, Context& context) {
  if (!options.node.folder.empty()) {
    fit_node(options.node, context);
    return;
  }
  if (options.collectives.empty() || options.node.cluster.empty()) {
    throw CLI::RequiredError("DIR of a calibrated node, or --collectives and --cluster");
  }
  std::string output = options.node.output;
  if (const std::string why = writable_file()(output); !why.empty()) {
    throw CLI::ValidationError("--output", why);
  }
  fit_tables(options, context);
}

}  // namespace

void add_calibrate_fit(CLI::App& calibrate, Context& context) {
  auto options = std::make_shared<FitCommand>();
  CLI::App* command = calibrate.add_subcommand(
      "fit", "Turn a calibrated node's folder into profiles, or tables of collectives into fits");
  CLI::Option* folder =
      command
          ->add_option("DIR", options->node.folder,
                       "Folder that calibrate_node.sh, 'calibrate bench' and 'calibrate record' "
                       "wrote")
          ->check(CLI::ExistingDirectory);
  command
      ->add_option("--collectives", options->collectives,
                   "Collective tables (.yaml), or outputs of nccl-tests or calibrate bench")
      ->excludes(folder)
      ->type_name("FILE");
  command
      ->add_option("--cluster", options->node.cluster,
                   "Scenario or cluster file (YAML) of the cluster that was measured; of a folder, "
                   "needed only where its collectives ran on several nodes")
      ->type_name("FILE");
  add_sets(*command, options->node.sets);
  command
      ->add_option("-o,--output", options->node.output,
                   "Of a folder: the folder to write, made where it is missing; of tables: a "
                   "collective table with its fits (YAML)")
      ->required()
      ->check(writable_path());
  command->add_option("--from", options->from, "Smallest size that is scored")
      ->capture_default_str();
  command->add_option("--folds", options->node.folds, "Folds of the hold-out over sizes")
      ->capture_default_str()
      ->check(CLI::Range(2, 100));
  add_table_options(*command, options->table);
  command->footer(
      "A folder gives NAME.yaml for each recording whose checks hold, node.yaml, collectives.yaml, "
      "compressors*.yaml,\njobs.yaml (what 'validate --calibrated' predicts) and report.md. Exit "
      "code 1: a recording was refused.\n"
      "Calibration error: of the rows that were fitted. Hold-out error: of rows that were left "
      "out.\n"
      "Examples:\n"
      "  gradwire calibrate fit node -o profiles/mycluster\n"
      "  gradwire calibrate fit --collectives table.yaml --cluster scenario.yaml -o fitted.yaml");
  command->callback([options, &context] { fit(*options, context); });
}

}  // namespace gradwire::cli
