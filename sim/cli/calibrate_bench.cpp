#include "sim/cli/calibrate_bench.hpp"

#include <memory>
#include <string>

#include "sim/cli/calibrate_bench_mpi.hpp"

namespace gradwire::cli {

void add_calibrate_bench(CLI::App& calibrate, Context& context) {
  struct Options {
    std::string backend;
    std::string output;
    MpiBench mpi;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      calibrate.add_subcommand("bench", "Time collectives by size, one file a collective");
  command->add_option("--backend", options->backend, "What moves them")
      ->required()
      ->check(CLI::IsMember({"mpi"}));
  command->add_option("-o,--output", options->output, "Folder for the files")
      ->required()
      ->type_name("DIR");
  add_mpi_options(*command, options->mpi);
  command->footer(
      "Example:\n"
      "  gradwire calibrate bench --backend mpi --hosts a,b -o cluster/collectives\n"
      "  gradwire calibrate fit --collectives cluster/collectives/*.json --cluster scenario.yaml "
      "-o table.yaml");
  command->callback(
      [options, &context] { context.exit_code = run_mpi_bench(options->mpi, options->output); });
}

}  // namespace gradwire::cli
