#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/capture/common/host_part.hpp"
#include "calibration/capture/preflight.hpp"
#include "calibration/import/recording.hpp"
#include "sim/cli/calibrate.hpp"
#include "sim/cli/child_program.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;
using calibration::Recording;

constexpr int capture_failed = 1;
constexpr int bad_command_line = 2;
constexpr int no_gpu = 4;

struct RecordCommand {
  std::vector<std::string> program;
  std::string folder = "calibration";
  std::string mode = "full";
  std::string name = "program";
  std::size_t skip = 0;
  std::size_t iterations = 0;
  std::string memory;
  std::string file_size;
  std::string rank_from;
  bool command_line = false;
  bool without_gpu = false;
  bool force = false;
};

/// The recorder's library: GRADWIRE_INJECT, beside the program, or where it is installed.
fs::path find_recorder() {
  if (const char* given = std::getenv("GRADWIRE_INJECT")) return given;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const char* place : {"libgradwire_inject.so", "../lib/gradwire/libgradwire_inject.so"}) {
    if (fs::exists(program / place)) return fs::weakly_canonical(program / place);
  }
  return {};
}

fs::path recordings_folder(const RecordCommand& options) {
  return fs::path(options.folder) / "recordings" / options.name;
}

/// The files of the wanted mode that this machine wrote: another may record into the same folder at
/// the same time. MODE.rankRANK.HOST.PID.gwr.
std::vector<std::string> files_of(const fs::path& folder, const std::string& mode) {
  std::vector<std::string> files = calibration::recording_files(folder.string());
  const std::string host = "." + calibration::host_part() + ".";
  std::erase_if(files, [&](const std::string& file) {
    const std::string name = fs::path(file).filename().string();
    return !name.starts_with(mode + ".") || name.find(host) == std::string::npos;
  });
  return files;
}

/// @return false where a recording is there already, and was not to be replaced
bool make_folder(const RecordCommand& options) {
  const fs::path folder = recordings_folder(options);
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw ConfigError({folder.string(), 0, 0},
                      fmt::format("cannot be made: {}; expected a folder that can be written",
                                  failure.message()));
  }
  const std::vector<std::string> files = files_of(folder, options.mode);
  if (!files.empty() && !options.force) {
    tell("gradwire: {} is there already; expected another --name, or --force\n", files.front());
    return false;
  }
  for (const std::string& file : files) fs::remove(file);
  return true;
}

/// @return whether something can be recorded
bool preflight(const RecordCommand& options, const Context& context) {
  if (options.without_gpu) return true;
  const calibration::Preflight found = calibration::check_node({});
  for (const calibration::Finding& finding : found.findings) {
    if (!finding.fatal && context.quiet) continue;
    tell("{}: {}\n", finding.fatal ? "gradwire" : "warning", finding.text);
  }
  return found.ready();
}

std::vector<std::pair<std::string, std::string>> environment_of(const RecordCommand& options,
                                                                const fs::path& recorder) {
  std::vector<std::pair<std::string, std::string>> variables{
      {"CUDA_INJECTION64_PATH", recorder.string()},
      {"NVTX_INJECTION64_PATH", recorder.string()},
      {"GRADWIRE_OUT", fs::absolute(recordings_folder(options)).string()},
      {"GRADWIRE_MODE", options.mode},
      {"GRADWIRE_SKIP_ITERS", std::to_string(options.skip)},
      {"GRADWIRE_ITERS", std::to_string(options.iterations)}};
  if (!options.memory.empty()) variables.emplace_back("GRADWIRE_MEMORY", options.memory);
  if (!options.file_size.empty()) variables.emplace_back("GRADWIRE_FILE_SIZE", options.file_size);
  if (options.command_line) variables.emplace_back("GRADWIRE_COMMAND_LINE", "1");
  if (!options.rank_from.empty()) variables.emplace_back("GRADWIRE_RANK_FROM", options.rank_from);
  return variables;
}

std::size_t iterations_in(const Recording& recording) {
  const auto& names = recording.trace.names;
  const auto marks =
      std::ranges::count_if(recording.trace.marks, [&](const calibration::MarkRecord& mark) {
        return names[mark.name].starts_with("gradwire.iteration:");
      });
  return marks > 0 ? static_cast<std::size_t>(marks) - 1 : 0;
}

/// Time in the recorder's calls as a part of what the program's threads had, by the clock.
std::string overhead_text(const Recording& recording) {
  const double milliseconds = static_cast<double>(recording.cost.in_callbacks) / 1e6;
  if (recording.clocks.empty() || recording.trace.ranges.empty()) {
    return fmt::format("{:.1f} ms", milliseconds);
  }
  const auto begins = [](const calibration::RangeRecord& range) { return range.start; };
  const auto first = std::ranges::min(recording.trace.ranges, {}, begins).start;
  const auto all = static_cast<double>(recording.clocks.back().monotonic - first);
  return fmt::format("{:.1f} ms of {:.1f} ms ({:.2f} %)", milliseconds, all / 1e6,
                     100 * static_cast<double>(recording.cost.in_callbacks) / all);
}

void print_recording(const Recording& recording) {
  const calibration::Trace& trace = recording.trace;
  const auto kernels = std::ranges::count_if(trace.device, [](const auto& record) {
    return record.kind == calibration::DeviceKind::kernel;
  });
  tell(
      "{}\n  rank {} of {}: {} iterations, {} kernels, {} copies and memsets, {} ranges, "
      "{} dropped\n  recorder on the program's threads: {}\n",
      trace.file, trace.rank, trace.world_size, iterations_in(recording), kernels,
      static_cast<std::ptrdiff_t>(trace.device.size()) - kernels, trace.ranges.size(),
      trace.dropped, overhead_text(recording));
  if (trace.cut_off) tell("  warning: the program ended without its exit handlers\n");
  for (const std::string& note : recording.notes) tell("  warning: {}\n", note);
  if (!recording.no_device.empty()) tell("  warning: {}\n", recording.no_device);
  if (recording.cost.buffers_missing > 0) {
    tell("  warning: another profiler took CUPTI: device records are incomplete\n");
  }
}

/// Tells what was written. @return whether anything was
bool report(const RecordCommand& options, const Context& context) {
  const std::vector<std::string> files = files_of(recordings_folder(options), options.mode);
  for (const std::string& file : files) {
    const Recording recording = calibration::read_recording(file);
    if (!context.quiet) print_recording(recording);
  }
  if (files.empty()) {
    tell(
        "gradwire: nothing was recorded: the program neither called CUDA nor spoke NVTX "
        "(is it a shell that starts another program without its environment?)\n");
  }
  return !files.empty();
}

int record(const RecordCommand& options, const Context& context) {
  if (!preflight(options, context)) return no_gpu;
  const fs::path recorder = find_recorder();
  if (recorder.empty() || !fs::exists(recorder)) {
    tell(
        "gradwire: no recorder: expected libgradwire_inject.so beside the program or in "
        "lib/gradwire (built where the CUDA toolkit is), or its path in GRADWIRE_INJECT\n");
    return no_gpu;
  }
  if (!make_folder(options)) return bad_command_line;
  const int code = run_program(options.program, environment_of(options, recorder));
  const bool recorded = report(options, context);
  return code == 0 && !recorded ? capture_failed : code;
}

}  // namespace

void add_calibrate_record(CLI::App& calibrate, Context& context) {
  auto options = std::make_shared<RecordCommand>();
  CLI::App* command = calibrate.add_subcommand(
      "record", "Run a program, and record what it does on its GPUs, operator by operator");
  command->add_option("-o,--output", options->folder, "Folder of the calibrated node")
      ->capture_default_str()
      ->type_name("DIR");
  command->add_option("--name", options->name, "Name of the recording: DIR/recordings/NAME")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(file_name());
  command
      ->add_option("--mode", options->mode,
                   "light: kernels, copies and iterations; full: also calls, operators, modules")
      ->capture_default_str()
      ->check(one_of({"light", "full"}));
  command->add_option("--skip", options->skip, "Iterations before the first that is recorded")
      ->capture_default_str();
  command->add_option("--iterations", options->iterations, "Iterations to record; 0: all")
      ->capture_default_str();
  command->add_option("--memory", options->memory, "Bound of the recorder's memory: 256M, 1G");
  command->add_option("--rank-from", options->rank_from,
                      "Variable that has a process's rank (default: torchrun's, Open MPI's, "
                      "PMI's, PALS's, Slurm's, PMIx's)");
  command->add_option("--file-size", options->file_size,
                      "Bound of each process's file: 512M, 4G (default: 4G)");
  command->add_flag("--record-command-line", options->command_line,
                    "Keep the program's arguments in the recording; values that are named like "
                    "secrets are masked");
  command->add_flag("--no-gpu", options->without_gpu, "Record ranges only, without a GPU");
  command->add_flag("--force", options->force, "Replace a recording of the same name and mode");
  command->add_option("PROGRAM", options->program, "Program and its arguments, after --")
      ->required()
      ->type_name("");
  command->footer(
      "Iterations are marked by gradwire_torch.py, or by NVTX marks \"gradwire.iteration:0\", ...\n"
      "The exit code is the program's; 4 where there is no GPU, driver or recorder.\n"
      "Example:\n"
      "  gradwire calibrate record -o node --name resnet50 --skip 10 --iterations 50 -- \\\n"
      "      python3 gradwire_torch.py train.py --batch 32");
  command->callback([options, &context] { context.exit_code = record(*options, context); });
}

}  // namespace gradwire::cli
