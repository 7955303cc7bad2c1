#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/attribution/collectives.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/fit/profile_report.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/trace_collectives.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/import_profile.hpp"
#include "sim/cli/import_tables.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/catalogue.hpp"
#include "sim/config/check.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/profile/model_catalogue.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_units.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/optimizers.hpp"

namespace gradwire::cli {
namespace {

/// An option's value as the YAML reader would take it, so that units and messages are the same.
template <class Value>
Value option_value(const std::string& text, const std::string& option) {
  return config::read_value<Value>(config::parse_yaml(text, option), option);
}

std::optional<ComputeProfile> frame_of(const ProfileOptions& options) {
  if (options.model.empty()) return std::nullopt;
  const config::YamlValue name = config::parse_yaml(config::yaml_quoted(options.model), "--model");
  ModelDescription model = config::read_model(name);
  // Sums of gradients run in backward alone; a trace has them in the layer that they belong to.
  std::erase_if(model.layers, [](const ModelLayer& layer) {
    return layer.forward.kernels == 0 && layer.backward.kernels > 0 && layer.parameters.empty();
  });
  return untimed_profile(model, options.batch);
}

/// A profile of a GPU that is not known, or of a type that it has not, could not be used.
GpuSpec gpu_of(const ProfileOptions& options) {
  const auto place = [](const std::string& text, const char* option) {
    return config::parse_yaml(config::yaml_quoted(text), option).where;
  };
  GpuSpec gpu = config::shipped_gpu(options.gpu, place(options.gpu, "--gpu"));
  std::vector<std::string> known;
  for (const auto& [dtype, flops] : gpu.peak_flops) known.push_back(dtype);
  if (!gpu.peak_flops.contains(options.dtype)) {
    throw ConfigError(
        place(options.dtype, "--dtype"),
        fmt::format("GPU '{}' has no '{}'; expected one of {}{}", gpu.name, options.dtype,
                    joined_by(known, ", "), suggestion(options.dtype, known)));
  }
  return gpu;
}

calibration::ProfileSubject subject_of(const ProfileOptions& options, const std::string& tool,
                                       const std::string& file) {
  calibration::ProfileSubject subject;
  subject.frame = frame_of(options);
  subject.model = subject.frame ? subject.frame->model : options.name;
  if (subject.model.empty()) subject.model = std::filesystem::path(file).stem().string();
  subject.gpu = gpu_of(options).name;
  subject.batch_per_gpu = options.batch;
  subject.dtype = options.dtype;
  subject.source.kind = "imported";
  subject.source.tool = tool;
  subject.source.file = std::filesystem::path(file).filename().string();
  if (!options.optimizer.empty()) {
    const double bytes =
        config::shipped_hosts().find_optimizer(options.optimizer)->bytes_per_parameter;
    subject.optimizer_bytes_per_parameter = Bytes{std::llround(bytes)};
  }
  if (!options.iteration.empty()) {
    subject.iteration = option_value<Seconds>(options.iteration, "--iteration");
  }
  return subject;
}

std::string profile_text(const calibration::ProfileFit& fit, const std::string& output,
                         const std::string& input) {
  RecordedProfile recorded = fit.recorded;
  std::string notes =
      "Times of kernels, found through the operators that launched them and the "
      "sequence numbers of autograd nodes; medians.";
  for (const std::string& note : fit.notes) notes += " " + note + ".";
  recorded.profile.source.notes = notes;
  return config::checked(config::write_profile(recorded), output, input);
}

struct KinetoOptions {
  std::string file;
  std::string collectives;
  int nodes = 1;
  ProfileOptions profile;
};

void import_kineto(const KinetoOptions& options, const Context& context) {
  const calibration::Trace trace = calibration::read_kineto(options.file);
  if (!options.collectives.empty()) {
    finish_tables(
        calibration::tables_of(calibration::collectives_of(trace), options.file, 0, options.nodes),
        {}, options.collectives, options.file, context);
  }
  if (options.profile.output.empty() && !options.profile.report) return;
  finish_profile(trace, options.profile, context);
}

}  // namespace

void add_profile_options(CLI::App& command, ProfileOptions& options) {
  command.add_option("-o,--output", options.output, "Compute profile to write (YAML)")
      ->check(writable_file());
  command.add_flag("--report", options.report, "Print layers, jitter and checks");
  command.add_option("--model", options.model,
                     "Model of ours, whose layers and tensors the trace's are joined with");
  command.add_option(
      "--name", options.name,
      "Name of the model, where it is none of ours; its tensors need shapes in the trace");
  command.add_option("--gpu", options.gpu, "GPU as our profiles name it")->required();
  command.add_option("--batch", options.batch, "Samples of one iteration on the GPU")
      ->required()
      ->check(CLI::Range(1, 1'000'000'000));
  command.add_option("--dtype", options.dtype, "Type of the arithmetic: fp32, tf32, fp16, bf16")
      ->required();
  command.add_option("--optimizer", options.optimizer, "Optimizer that the trace ran")
      ->check(one_of(config::names_of(config::shipped_hosts().optimizers)));
  command.add_option("--iteration", options.iteration,
                     "Time of an iteration without a profiler, such as '97 ms' (default: the "
                     "trace's, if the GPU bounds it)");
}

void finish_profile(const calibration::Trace& trace, const ProfileOptions& options,
                    const Context& context) {
  if (!context.quiet) {
    for (const std::string& missing : trace.missing) {
      tell("the trace has no {}\n", missing);
    }
  }
  const calibration::ProfileFit fit =
      calibration::fit_trace(trace, subject_of(options, trace.tool, trace.file));
  if (options.report) print_text(calibration::profile_report(fit));
  if (!options.output.empty()) {
    write_outputs(
        {{options.output, [&] { return profile_text(fit, options.output, trace.file); }}});
  }
  if (context.quiet || options.report) return;
  for (const std::string& note : fit.notes) tell("{}\n", note);
}

void add_import_kineto(CLI::App& import, const Context& context) {
  auto options = std::make_shared<KinetoOptions>();
  CLI::App* command = import.add_subcommand(
      "kineto", "A trace of PyTorch's profiler into a compute profile, or a collective table");
  command->add_option("FILE", options->file, "Trace (JSON, plain or gzip)")->required();
  add_profile_options(*command, options->profile);
  command
      ->add_option("--collectives", options->collectives,
                   "Collective table to write, of the NCCL kernels in the trace")
      ->check(writable_file());
  command->add_option("--nodes", options->nodes, "Nodes that the collectives ran on")
      ->check(CLI::Range(1, 1'000'000));
  command->footer(
      "Record with torch.profiler.profile(record_shapes=True), a schedule of at least five steps, "
      "and\nprofiler.step(). Without shapes, --model names the layers.\n"
      "Example:\n"
      "  gradwire import kineto trace.json.gz --model resnet50 --gpu v100-sxm2-32gb --batch 32 \\\n"
      "    --dtype fp32 --report -o profile.yaml");
  command->callback([options, &context] { import_kineto(*options, context); });
}

}  // namespace gradwire::cli
