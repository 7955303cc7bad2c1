
#include <memory>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/show.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/report/profile_svg.hpp"
#include "sim/report/profile_text.hpp"

namespace gradwire::cli {
namespace {

struct ShowOptions {
  std::string file;
  std::vector<std::string> sets;
  std::string point;
  std::string svg;
};

ComputeProfile profile_of(const ShowOptions& options) {
  const std::string file = data_argument(config::DataKind::profile, options.file);
  if (schema_of(file) != scenario_schema) {
    refuse_changes(options.file, options.sets, options.point);
    return config::read_profile(config::loaded_yaml(file));
  }
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
  print_text(profile_text(profile));
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
  plan->footer(
      "Example:\n  gradwire show plan job.yaml --set 'strategy.bucket_cap=1 MiB' --svg plan.svg");
  plan->add_option("--svg", options->svg, "Draw the groups over the gradients' times")
      ->check(writable_file());
  plan->callback(
      [options] { show_plan(options->file, options->sets, options->point, options->svg); });
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
