#include <memory>
#include <string>

#include "calibration/import/execution_trace.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nsys.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/import_profile.hpp"

namespace gradwire::cli {
namespace {

struct TraceOptions {
  std::string file;
  std::string times;  ///< the profiler's trace, where the file has none
  ProfileOptions profile;
};

/// A part of `import` that reads one trace into a profile.
template <class Read>
CLI::App& add_trace(CLI::App& import, const std::string& name, const std::string& summary,
                    const std::string& file, const Context& context,
                    const std::shared_ptr<TraceOptions>& options, Read read) {
  CLI::App* command = import.add_subcommand(name, summary);
  command->add_option("FILE", options->file, file)->required();
  add_profile_options(*command, options->profile);
  command->callback(
      [options, &context, read] { finish_profile(read(*options), options->profile, context); });
  return *command;
}

}  // namespace

void add_import_execution_trace(CLI::App& import, const Context& context) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App& command = add_trace(
      import, "execution-trace",
      "An execution trace of PyTorch, whose shapes complete a profiler's trace, into a profile",
      "Execution trace (JSON, plain or gzip)", context, options, [](const TraceOptions& of) {
        calibration::Trace timed = calibration::read_kineto(of.times);
        calibration::complete_from(timed, calibration::read_execution_trace(of.file));
        std::erase_if(timed.missing,
                      [](const std::string& missing) { return missing.starts_with("shapes"); });
        return timed;
      });
  command.add_option("--trace", options->times, "The profiler's trace of the same iteration")
      ->required();
  command.footer(
      "An execution trace (ExecutionTraceObserver) has shapes and no times; the profiler's trace "
      "of "
      "the same\niteration has the times.\n"
      "Example:\n"
      "  gradwire import execution-trace et.json --trace kineto.json --name mine --gpu "
      "h100-sxm5-80gb \\\n    --batch 128 --dtype tf32 -o profile.yaml");
}

void add_import_chakra(CLI::App& import, const Context& context) {
  CLI::App& command =
      add_trace(import, "chakra", "A trace linked by Chakra (JSON) into a compute profile",
                "What chakra_trace_link writes (JSON, plain or gzip)", context,
                std::make_shared<TraceOptions>(),
                [](const TraceOptions& of) { return calibration::read_execution_trace(of.file); });
  command.footer(
      "Chakra's protobuf form (.et) is not read: PyTorch's converter writes durations without "
      "begins.\n"
      "Example:\n"
      "  gradwire import chakra linked.json --model resnet50 --gpu v100-sxm2-32gb --batch 32 "
      "--dtype fp32 \\\n    -o profile.yaml");
}

void add_import_nsys(CLI::App& import, const Context& context) {
  CLI::App& command = add_trace(
      import, "nsys", "A recording of Nsight Systems, exported to SQLite, into a compute profile",
      "SQLite export", context, std::make_shared<TraceOptions>(),
      [](const TraceOptions& of) { return calibration::read_nsys(of.file); });
  command.footer(
      "Record a program that runs under torch.autograd.profiler.emit_nvtx(record_shapes=True):\n"
      "  nsys profile --trace=cuda,nvtx -o run python train.py\n"
      "  nsys export --type sqlite -o run.sqlite run.nsys-rep\n"
      "Example:\n"
      "  gradwire import nsys run.sqlite --model resnet50 --gpu v100-sxm2-32gb --batch 32 --dtype "
      "fp32 \\\n    -o profile.yaml");
}

}  // namespace gradwire::cli
