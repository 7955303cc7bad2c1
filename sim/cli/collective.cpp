#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/core/error.hpp"
#include "sim/report/nccl_table.hpp"

namespace gradwire::cli {
namespace {

struct CollectiveOptions {
  std::string scenario;
  std::vector<std::string> sets;
  std::string point;
  std::string operation = "all_reduce";
  std::string sizes = "1KiB:1GiB:x2";
  std::string json;
};

/// Time that the busiest link needs for one byte of the collective, however the flows are timed.
double seconds_per_byte(const Pattern& pattern, const Cluster& cluster) {
  std::vector<double> load(cluster.links().size());
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (const LinkId link :
           std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size)) {
        load[static_cast<std::size_t>(link)] += flow.share;
      }
    }
  }
  double most = 0;
  for (std::size_t i = 0; i < load.size(); ++i) {
    most = std::max(most, load[i] / cluster.links()[i].capacity);
  }
  return most;
}

/// Runs the sizes one after the other on one engine, each alone.
CollectiveReport measure(const CollectiveOptions& options, const config::Scenario& scenario) {
  const CollectiveKind kind = collective_kind(options.operation).value();
  const std::vector<Pattern> patterns = scenario.library->plan(kind, scenario.placement);
  EngineOptions how = engine_options(scenario);
  how.one_at_a_time = true;
  const auto engine = make_engine(*scenario.cluster, patterns, how);
  std::vector<double> bounds;
  for (const Pattern& pattern : patterns) {
    bounds.push_back(seconds_per_byte(pattern, *scenario.cluster));
  }
  const std::vector<Bytes> sizes = parse_sizes(options.sizes);
  CollectiveReport report{kind, static_cast<int>(scenario.placement.size()), {}};
  Seconds begin;
  const auto start_next = [&] {
    const std::size_t index = report.rows.size();
    if (index == sizes.size()) return;
    const auto [pattern, cost] = scenario.library->choose(patterns, sizes[index]);
    report.rows.push_back(
        {.bytes = sizes[index].count(),
         .bound_seconds = bounds[pattern] * static_cast<double>(sizes[index].count()),
         .algorithm = cost.algorithm,
         .protocol = cost.protocol,
         .source = cost.source});
    begin = engine->now();
    engine->network().start(static_cast<TransferId>(index), static_cast<PatternId>(pattern),
                            sizes[index], cost);
  };
  engine->at(Seconds{0}, start_next);
  engine->run([&](TransferId /*id*/, Seconds now) {
    report.rows.back().seconds = (now - begin).count();
    start_next();
  });
  return report;
}

void run_collective(const CollectiveOptions& options) {
  const auto points =
      config::read_scenario(options.scenario, options.sets, config::Needs::cluster_only);
  const config::Scenario& scenario = choose_point(points, options.point, options.scenario);
  if (scenario.placement.size() < 2) {
    throw ConfigError({options.scenario, 1, 1},
                      "a collective needs at least 2 ranks; expected more GPUs in 'cluster'");
  }
  const CollectiveReport report = measure(options, scenario);
  fmt::print("{}", nccl_table(report));
  write_outputs({{options.json, [&] { return json_text(collective_json(report)); }}});
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : collective_kinds()) names.emplace_back(name_of(kind));
  return names;
}

}  // namespace

void add_collective(CLI::App& app, Context& /*context*/) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* command = app.add_subcommand(
      "collective", "Time a collective alone on a cluster, as nccl-tests prints it");
  command->add_option("SCENARIO", options->scenario, "Scenario file (YAML); needs only 'cluster'")
      ->required();
  add_sets(*command, options->sets);
  command->add_option("--op", options->operation, "Operation")
      ->capture_default_str()
      ->check(CLI::IsMember(operation_names()));
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
  command->add_option("--json", options->json, "Write gradwire.collective/1")
      ->check(writable_file());
  command->footer(
      "The bound is the time that the busiest link needs for its bytes.\n"
      "Examples:\n"
      "  gradwire collective job.yaml --op all_reduce --sizes 1KiB:1GiB:x2\n"
      "  gradwire collective job.yaml --sizes 25MiB --json collective.json");
  command->callback([options] { run_collective(*options); });
}

}  // namespace gradwire::cli
