#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/show_topology.hpp"
#include "sim/config/profile_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/report/profile_svg.hpp"
#include "sim/report/profile_text.hpp"
#include "sim/report/summary.hpp"

namespace gradwire::cli {
namespace {

struct ShowOptions {
  std::string file;
  std::vector<std::string> sets;
  std::string point;
  std::string svg;
};

std::string plan_text(const std::vector<PlanGroup>& groups, const JobView& job) {
  std::string text = fmt::format("{:>6}{:>9}{:>13}{:>13}  {}\n", "group", "tensors", "elements",
                                 "collective", "from ... to");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PlanGroup& group = groups[i];
    const auto name = [&](TensorId id) { return job.tensors[static_cast<std::size_t>(id)].name; };
    std::string span = name(group.tensors.front());
    if (group.tensors.size() > 1) span += " ... " + name(group.tensors.back());
    text += fmt::format("{:>6}{:>9}{:>13}{:>13}  {}\n", i, group.tensors.size(), group.elements,
                        readable_bytes(static_cast<double>(group.size.count())), span);
  }
  return text;
}

void show_plan(const ShowOptions& options) {
  const auto points = config::read_scenario(options.file, options.sets);
  const config::Scenario& scenario = choose_point(points, options.point, options.file);
  const JobView job = job_view(job_of(scenario));
  const auto strategy = scenario.make_strategy(job);
  fmt::print("{}: {} on {} ranks, {} tensors\n", scenario.name, scenario.strategy_name,
             job.world_size, job.tensors.size());
  const std::string first = plan_text(strategy->plan(0), job);
  const std::string second = plan_text(strategy->plan(1), job);
  fmt::print("\n{}:\n{}", first == second ? "Every iteration" : "First iteration", first);
  if (first != second) fmt::print("\nFrom the second iteration on:\n{}", second);
}

ComputeProfile profile_of(const ShowOptions& options) {
  const std::string file = data_argument(config::DataKind::profile, options.file);
  if (schema_of(file) != scenario_schema) return config::read_profile(config::load_yaml(file));
  const auto points = config::read_scenario(file, options.sets);
  return *choose_point(points, options.point, file).profile;
}

void show_profile(const ShowOptions& options) {
  const ComputeProfile profile = profile_of(options);
  const bool drawable = profile.tensor_count() > 0 && profile.backward() > Seconds{0};
  if (!options.svg.empty() && !drawable) {
    throw ConfigError({options.file, 0, 0},
                      "nothing to draw; expected layers with parameters and time in backward");
  }
  fmt::print("{}", profile_text(profile));
  write_outputs({{options.svg, [&] { return profile_svg(profile); }}});
}

CLI::App* add_part(CLI::App& show, ShowOptions& options, const char* name, const char* what,
                   const char* file) {
  CLI::App* part = show.add_subcommand(name, what);
  part->add_option("FILE", options.file, file)->required();
  add_sets(*part, options.sets);
  part->add_option("--point", options.point,
                   "Label of the scenario's point (default: the one with the most ranks)")
      ->type_name("LABEL");
  return part;
}

}  // namespace

void add_show(CLI::App& app, Context& /*context*/) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* show = app.add_subcommand("show", "A topology, a profile's layers, a strategy's plan");
  show->require_subcommand(1);
  show->footer(
      "Examples:\n"
      "  gradwire show plan job.yaml\n"
      "  gradwire show profile resnet50/v100-sxm2-32gb_fp32_b32\n"
      "  gradwire show topology dgx1v --svg dgx1v.svg");
  CLI::App* plan = add_part(*show, *options, "plan", "The buckets or groups that a strategy forms",
                            "Scenario (YAML)");
  plan->footer("Example:\n  gradwire show plan job.yaml --set 'strategy.bucket_cap=1 MiB'");
  plan->callback([options] { show_plan(*options); });
  CLI::App* profile = add_part(*show, *options, "profile", "The layers of a compute profile",
                               "Profile or scenario (YAML), or a shipped profile's name");
  profile->add_option("--svg", options->svg, "Draw when its gradients become ready")
      ->check(writable_file());
  profile->footer(
      "Example:\n  gradwire show profile resnet50/v100-sxm2-32gb_fp32_b32 --svg ready.svg");
  profile->callback([options] { show_profile(*options); });
  CLI::App* topology =
      add_part(*show, *options, "topology", "Devices, links and routes of a cluster",
               "Node topology or scenario (YAML), or a shipped node's name");
  topology->add_option("--svg", options->svg, "Draw it, by Graphviz")->check(writable_file());
  topology->footer("Example:\n  gradwire show topology job.yaml --svg cluster.svg");
  topology->callback(
      [options] { show_topology(options->file, options->sets, options->point, options->svg); });
}

}  // namespace gradwire::cli
