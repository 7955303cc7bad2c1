#include <algorithm>
#include <memory>
#include <string>

#include "calibration/import/compressors.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string gpu;
  std::string output;
};

void import_compressors(const ImportOptions& options) {
  const std::string text = read_text_file(
      options.file, "what workloads/compressors.py or gradwire-bench wrote", json_bytes);
  const calibration::CompressorBench bench =
      calibration::read_bench_compressors(text, options.file);
  BytesPerSecond bandwidth;
  if (!options.gpu.empty()) {
    bandwidth = config::shipped_gpu(options.gpu, {"--gpu", 1, 1}).memory_bandwidth;
  }
  if (bench.on_gpu && !(std::max(bench.memory_bandwidth, bandwidth) > BytesPerSecond{})) {
    throw ConfigError({options.file, 1, 1},
                      "the record does not state the GPU's memory bandwidth; expected --gpu with a "
                      "name of `gradwire list gpus`");
  }
  write_outputs({{options.output, [&] {
                    return config::checked(calibration::write_compressor_costs(bench, bandwidth),
                                           options.output, options.file);
                  }}});
}

}  // namespace

void add_import_compressors(CLI::App& import) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = import.add_subcommand(
      "compressors", "Times of compressors, recorded on a GPU node, into a file of costs");
  command->add_option("FILE", options->file, "compressors.json or compressors_cpu.json")
      ->required();
  command->add_option("-o,--output", options->output, "Costs to write (YAML)")
      ->required()
      ->check(writable_file());
  command->add_option("--gpu", options->gpu,
                      "GPU that it was, where the record does not state its memory bandwidth");
  command->footer(
      "A scenario names it: compressor_costs: h200.yaml\n"
      "A file among profiles/compressors counts for every scenario; of several the one counts "
      "whose GPU is nearest in memory bandwidth.\n"
      "Example:\n"
      "  gradwire import compressors node/compressors.json -o h200.yaml");
  command->callback([options] { import_compressors(*options); });
}

}  // namespace gradwire::cli
