#include "sim/cli/calibrate.hpp"

#include <memory>
#include <string>

#include "sim/cli/calibrate_bench_mpi.hpp"
#include "sim/cli/calibrate_bench_nccl.hpp"
#include "sim/cli/one_of.hpp"

namespace gradwire::cli {

void add_calibrate_bench(CLI::App& calibrate, Context& context) {
  struct Options {
    std::string backend = "nccl";
    std::string output;
    MpiBench mpi;
    NcclBench nccl;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = calibrate.add_subcommand(
      "bench", "Time collectives by size, and a GPU node's copies, overlap and compressors");
  command->add_option("--backend", options->backend, "What moves the collectives")
      ->capture_default_str()
      ->check(one_of({"mpi", "nccl"}));
  command->add_option("-o,--output", options->output, "Folder for the files")
      ->required()
      ->type_name("DIR");
  add_mpi_options(*command, options->mpi);
  add_nccl_options(*command, options->nccl);
  command->footer(
      "Example:\n"
      "  gradwire calibrate bench --backend mpi --hosts a,b -o cluster/collectives\n"
      "  gradwire calibrate fit --collectives cluster/collectives/*.json --cluster scenario.yaml "
      "-o table.yaml\n"
      "  gradwire calibrate bench -o node     (on a GPU node)\n"
      "  mpirun -np 16 gradwire-bench collectives --output node/collectives   (over several)");
  command->callback([options, command, &context] {
    if (options->backend == "mpi") {
      context.exit_code = run_mpi_bench(options->mpi, options->output);
      return;
    }
    // Of the options that both have, the defaults are MPI's.
    if (command->count("--ops") > 0) options->nccl.ops = options->mpi.ops;
    if (command->count("--sizes") > 0) options->nccl.sizes = options->mpi.sizes;
    context.exit_code = run_nccl_bench(options->nccl, options->output);
  });
}

}  // namespace gradwire::cli
