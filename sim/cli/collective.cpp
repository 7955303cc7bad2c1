
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/core/error.hpp"
#include "sim/cost/choice_warnings.hpp"
#include "sim/engine/uncontended.hpp"
#include "sim/report/bandwidth_svg.hpp"
#include "sim/report/nccl_table.hpp"
#include "sim/report/placement_text.hpp"

namespace gradwire::cli {
namespace {

struct CollectiveOptions {
  std::string scenario;
  std::vector<std::string> sets;
  std::string point;
  std::vector<std::string> operations = {"all_reduce"};
  std::string sizes = "1KiB:1GiB:x2";
  std::string json;
  std::string svg;
};

constexpr const char* all_operations = "all";

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : collective_kinds()) names.emplace_back(name_of(kind));
  return names;
}

CollectiveReport measure(const config::Scenario& scenario, CollectiveKind kind,
                         const std::vector<Bytes>& sizes) {
  CollectiveReport report{.kind = kind,
                          .ranks = static_cast<int>(scenario.placement.size()),
                          .rows = {},
                          .devices = placement_text(scenario.placement, {})};
  ChoiceWarnings choices;
  const auto times = with_places(scenario, [&] {
    return uncontended_times(*scenario.cluster, *scenario.library, kind, scenario.placement, sizes,
                             engine_options(scenario));
  });
  for (const UncontendedTime& time : times) {
    report.rows.push_back({.bytes = time.size.count(),
                           .seconds = time.time.count(),
                           .bound_seconds = time.bound.count(),
                           .algorithm = time.cost.algorithm,
                           .protocol = time.cost.protocol,
                           .source = time.cost.source});
    choices.add(kind, time.size, time.cost);
  }
  report.warnings = choices.warnings();
  return report;
}

/// Every operation there is, reported in a comment where the library has none.
std::vector<CollectiveReport> measure_all(const config::Scenario& scenario,
                                          const std::vector<Bytes>& sizes) {
  std::vector<CollectiveReport> reports;
  for (const CollectiveKind kind : collective_kinds()) {
    try {
      reports.push_back(measure(scenario, kind, sizes));
      print_text(nccl_table(reports.back()) + '\n');
    } catch (const SimulationError& error) {
      print_text(plain_format("# {}: {}\n\n", name_of(kind), error.what()));
    }
  }
  return reports;
}

std::vector<CollectiveReport> measure_named(const config::Scenario& scenario,
                                            const std::vector<std::string>& operations,
                                            const std::vector<Bytes>& sizes) {
  std::vector<CollectiveReport> reports;
  for (const std::string& operation : operations) {
    reports.push_back(measure(scenario, collective_kind(operation).value(), sizes));
    print_text((reports.size() > 1 ? "\n" : "") + nccl_table(reports.back()));
  }
  return reports;
}

void run_collective(const CollectiveOptions& options) {
  const auto points =
      config::read_scenario(options.scenario, options.sets, config::Needs::cluster_only);
  const config::Scenario& scenario = choose_point(points, options.point, options.scenario);
  if (scenario.placement.size() < 2) {
    throw ConfigError({options.scenario, 1, 1},
                      "a collective needs at least 2 ranks; expected more GPUs in 'cluster'");
  }
  const std::vector<Bytes> sizes = parse_sizes(options.sizes);
  const bool all =
      std::ranges::find(options.operations, all_operations) != options.operations.end();
  const std::vector<CollectiveReport> reports =
      all ? measure_all(scenario, sizes) : measure_named(scenario, options.operations, sizes);
  write_outputs({{options.json, [&] { return json_text(collectives_json(reports)); }},
                 {options.svg, [&] { return bandwidth_svg(reports, scenario.name); }}});
}

}  // namespace

void add_collective(CLI::App& app, Context& /*context*/) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* command = app.add_subcommand(
      "collective", "Time an uncontended collective on a cluster, as nccl-tests prints it");
  command->add_option("SCENARIO", options->scenario, "Scenario file (YAML); needs only 'cluster'")
      ->required();
  add_sets(*command, options->sets);
  std::vector<std::string> operations = operation_names();
  operations.emplace_back(all_operations);
  command->add_option("--op", options->operations, "Operation, or several with commas, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->check(one_of(operations));
  command
      ->add_option("--sizes", options->sizes,
                   "FROM:TO:xFACTOR, FROM:TO:+STEP or a list of sizes with units")
      ->capture_default_str()
      ->check([](const std::string& text) -> std::string {
        try {
          (void)parse_sizes(text);
          return "";
        } catch (const ConfigError& error) {
          return error.what();
        }
      });
  command
      ->add_option("--point", options->point,
                   "Label of the scenario's point (default: the one with the most ranks)")
      ->type_name("LABEL");
  command
      ->add_option("--json", options->json,
                   "Write gradwire.collective/1 (several operations: gradwire.collectives/1)")
      ->check(writable_file());
  command->add_option("--svg", options->svg, "Draw the bus bandwidth over the size")
      ->check(writable_file());
  command->footer(
      "The bound is the time that the busiest link needs for its bytes.\n"
      "Examples:\n"
      "  gradwire collective job.yaml --op all_reduce --sizes 1KiB:1GiB:x2\n"
      "  gradwire collective job.yaml --op all --sizes 1MiB:64MiB:x8 --svg bandwidth.svg\n"
      "  gradwire collective job.yaml --sizes 25MiB --json collective.json");
  command->callback([options] { run_collective(*options); });
}

}  // namespace gradwire::cli
