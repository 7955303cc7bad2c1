#include "sim/cli/calibrate_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <utility>

#include "sim/cli/calibrate_node_parts.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/check.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cost_files(const NodeFindings& findings) {
  std::vector<std::string> names;
  for (const CompressorFile& file : findings.compressors) names.push_back(file.name + ".yaml");
  return names;
}

/// What was measured and a prediction should give again: see sim/validation/calibrated.hpp.
std::string jobs_text(const NodeFindings& findings) {
  std::string text =
      "# What 'gradwire validate --calibrated' predicts.\nschema: gradwire.calibrated/1\n";
  if (findings.node) text += "node: node.yaml\n";
  if (findings.collectives) text += "collectives: collectives.yaml\n";
  if (!findings.compressors.empty()) {
    text += fmt::format("compressor_costs: [{}]\n", joined_by(cost_files(findings), ", "));
  }
  text += "jobs:";
  bool any = false;
  for (const FittedRecording& recording : findings.recordings) {
    if (!recording.measured) continue;
    any = true;
    text += fmt::format("\n  - {{profile: {}, gpus: {}, iteration: {:.6f} ms, iterations: {}}}",
                        config::yaml_quoted(recording.name + ".yaml"), recording.gpus,
                        1e3 * recording.measured->p50.count(), recording.measured->count);
  }
  return text + (any ? "\n" : " []\n");
}

std::string costs_text(const CompressorFile& file) {
  const auto gpu = config::described_gpu(config::gpu_of_device(file.bench.gpu));
  return calibration::write_compressor_costs(file.bench,
                                             gpu ? gpu->memory_bandwidth : BytesPerSecond{});
}

std::vector<Output> outputs_of(const NodeFindings& findings, const NodeFit& options) {
  std::vector<Output> outputs;
  const auto add = [&](const std::string& name, std::function<std::string()> content) {
    outputs.push_back({(fs::path(options.output) / name).string(), std::move(content)});
  };
  const auto add_yaml = [&](const std::string& name, std::function<std::string()> content) {
    const std::string path = (fs::path(options.output) / name).string();
    outputs.push_back({path, [&options, path, made = std::move(content)] {
                         return config::checked(made(), path, options.folder);
                       }});
  };
  for (const FittedRecording& recording : findings.recordings) {
    add_yaml(recording.name + ".yaml", [&recording] { return profile_text(recording.fit); });
  }
  if (findings.node) {
    add_yaml("node.yaml",
             [&] { return config::write_node(findings.node->node, findings.node->assumptions); });
  }
  if (findings.collectives) {
    add_yaml("collectives.yaml",
             [&] { return config::write_collective_table(*findings.collectives); });
  }
  for (const CompressorFile& file : findings.compressors) {
    add_yaml(file.name + ".yaml", [&file] { return costs_text(file); });
  }
  for (Picture& picture : node_pictures(findings)) {
    add(picture.name, [svg = std::move(picture.svg)] { return svg; });
  }
  add("jobs.yaml", [&] { return jobs_text(findings); });
  add("report.md", [&] { return node_report(findings, options.folds); });
  return outputs;
}

/// How what was written comes into a scenario.
void print_next_steps(const NodeFindings& findings, const std::string& folder) {
  const auto path = [&](const std::string& name) { return (fs::path(folder) / name).string(); };
  print_text(plain_format(
      "see {}; does it predict the node itself:\n  gradwire validate --calibrated {}\n",
      path("report.md"), folder));
  std::vector<std::string> lines;
  if (!findings.recordings.empty()) {
    lines.push_back("profile: " + path(findings.recordings.front().name + ".yaml"));
  }
  if (findings.node) lines.push_back(fmt::format("cluster: {{node: {}}}", path("node.yaml")));
  if (findings.collectives) {
    lines.push_back(fmt::format("collective: {{table: {}}}", path("collectives.yaml")));
  }
  std::vector<std::string> costs;
  for (const std::string& name : cost_files(findings)) costs.push_back(path(name));
  if (!costs.empty()) {
    lines.push_back(costs.size() == 1
                        ? "compressor_costs: " + costs.front()
                        : fmt::format("compressor_costs: [{}]", joined_by(costs, ", ")));
  }
  if (lines.empty()) return;
  print_text(fmt::format("in a scenario:\n  {}\n", joined_by(lines, "\n  ")));
}

void print_summary(const NodeFindings& findings, const NodeFit& options) {
  std::size_t width = 0;
  for (const FittedRecording& recording : findings.recordings) {
    width = std::max(width, recording.name.size());
  }
  for (const FittedRecording& recording : findings.recordings) {
    const ComputeProfile& profile = recording.fit.recorded.profile;
    print_text(plain_format(
        "{:<{}}  {:>10.3f} ms an iteration, GPU busy {:.1f} %, {} layers, {} tensors\n",
        recording.name, width, 1e3 * profile.iteration.count(),
        100 * (profile.gpu_busy / profile.iteration), profile.layers.size(),
        profile.tensor_count()));
  }
  if (findings.collectives) {
    print_text(fmt::format("{} tables of collectives, {} rows fitted\n",
                           findings.collectives->series.size(), findings.samples.size()));
  }
  print_next_steps(findings, options.output);
}

}  // namespace

void fit_node(const NodeFit& options, Context& context) {
  const NodeFindings findings = read_node_folder(options);
  if (findings.empty()) {
    throw ConfigError({options.folder, 0, 0},
                      "nothing of a calibrated node is there; expected a folder in 'recordings', "
                      "'collectives' or a benchmark's record such as 'copies.json'");
  }
  fs::create_directories(options.output);
  write_outputs(outputs_of(findings, options));
  print_summary(findings, options);
  for (const RefusedRecording& refused : findings.refused) {
    tell("{} is refused: {}\n", refused.name, refused.why);
    context.exit_code = 1;
  }
  if (context.quiet) return;
  for (const std::string& note : findings.notes) tell("{}\n", note);
}

}  // namespace gradwire::cli
