#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/plain_text.hpp"
#include "sim/validation/expected_misses.hpp"
#include "sim/validation/interval_fit.hpp"
#include "sim/validation/pages.hpp"
#include "sim/validation/report.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/single_series.hpp"
#include "sim/validation/training_series.hpp"
#include "sim/validation/transfer.hpp"

namespace gradwire::cli {
namespace {

using validation::Row;
using validation::SeriesEntry;
using validation::SeriesReport;
using Json = nlohmann::ordered_json;

struct ValidateOptions {
  std::vector<std::string> series;
  std::string calibrated;  ///< folder that `calibrate fit` wrote; then it alone
  int workers = available_cores();
  std::string json;
  std::string folder;
  bool strict = false;
  bool transfer = false;
};

/// A series with what its tasks gave.
struct Work {
  const SeriesEntry* entry = nullptr;
  std::unique_ptr<validation::Series> series;
  std::vector<std::vector<Row>> rows{};  ///< by task

  [[nodiscard]] SeriesReport report() const {
    SeriesReport report{std::string(entry->name), std::string(entry->summary), {}, {}};
    for (const auto& part : rows) {
      report.rows.insert(report.rows.end(), part.begin(), part.end());
    }
    report.gates = series->gates(report.rows);
    return report;
  }
};

std::vector<Work> open_series(const ValidateOptions& options) {
  static const SeriesEntry calibrated{"calibrated", "the calibrated node itself", "", nullptr};
  const auto simulate = [](const config::Scenario& scenario) { return predict_anyway(scenario); };
  std::vector<Work> work;
  const auto add = [&](const SeriesEntry& entry, std::unique_ptr<validation::Series> series) {
    const std::size_t tasks = series->tasks();
    work.push_back({&entry, std::move(series), std::vector<std::vector<Row>>(tasks)});
  };
  if (!options.calibrated.empty()) {
    add(calibrated, validation::open_calibrated(options.calibrated, simulate));
    return work;
  }
  const std::vector<std::string>& names = options.series;
  for (const SeriesEntry& entry : validation::series_catalogue()) {
    if (!names.empty() && std::ranges::find(names, entry.name) == names.end()) continue;
    std::unique_ptr<validation::Series> series = entry.open(simulate);
    if (options.transfer) series = series->transfer();
    if (series != nullptr) add(entry, std::move(series));
  }
  if (work.empty()) {
    throw CLI::ValidationError("--transfer", "none of the series named is of training jobs");
  }
  return work;
}

/// Each task in a process of its own, so that its figures do not depend on the others.
void run_tasks(std::vector<Work>& work, int workers, bool quiet) {
  std::vector<std::pair<Work*, std::size_t>> tasks;
  for (Work& series : work) {
    for (std::size_t task = 0; task < series.rows.size(); ++task) tasks.emplace_back(&series, task);
  }
  std::string failure;
  Progress progress(tasks.size(), "parts", quiet);
  run_in_workers(
      tasks.size(), workers,
      [&](std::size_t index) {
        const auto& [series, task] = tasks[index];
        return json_line(validation::rows_json(series->series->rows(task)));
      },
      [&](std::size_t index, const TaskOutcome& outcome) {
        const auto& [series, task] = tasks[index];
        if (outcome.done) {
          series->rows[task] = validation::rows_of(Json::parse(outcome.text));
        } else {
          failure = fmt::format("{}: {}", series->entry->name, outcome.text);
        }
        progress.step();
      });
  if (!failure.empty()) throw std::runtime_error(failure);
}

/// The reports of the series that share training.md.
std::vector<SeriesReport> training_reports(const std::vector<Work>& work,
                                           const std::vector<SeriesReport>& reports) {
  std::vector<SeriesReport> training;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (work[i].entry->page == validation::training_page) training.push_back(reports[i]);
  }
  return training;
}

/// File name -> text of every page whose series were all run: no page is written in part.
std::map<std::string, std::string> pages_of(const std::vector<Work>& work,
                                            const std::vector<SeriesReport>& reports,
                                            const SeriesReport& total) {
  std::map<std::string, std::string> pages;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::string name(work[i].entry->page);
    const auto shares = [&](const SeriesEntry& entry) { return entry.page == name; };
    const auto run = std::ranges::count_if(work, [&](const Work& w) { return shares(*w.entry); });
    if (name.empty() || run < std::ranges::count_if(validation::series_catalogue(), shares)) {
      continue;
    }
    std::string& page = pages[name];
    if (page.empty() && name == validation::training_page) {
      page = validation::training_head(training_reports(work, reports), total);
    }
    page += work[i].series->page(reports[i]);
  }
  return pages;
}

/// What predictions gain from what is known, a line a series.
void validate_transfer(const std::vector<Work>& work, const ValidateOptions& options) {
  std::vector<SeriesReport> reports;
  reports.reserve(work.size());
  for (const Work& series : work) reports.push_back(series.report());
  const std::string page = validation::transfer_page(reports);
  print_text(page);
  std::vector<Output> outputs;
  if (!options.folder.empty() && options.series.empty()) {
    const auto file = std::filesystem::path(options.folder) / "transfer.md";
    outputs.push_back({file.string(), [text = page] { return text; }});
  }
  outputs.push_back(
      {options.json, [&] { return json_text(validation::validation_json(reports)); }});
  write_outputs(outputs);
}

void judge_calibrated(const std::string& folder, const SeriesReport& report, Context& context) {
  for (const validation::Gate& gate : report.gates) {
    if (gate.met()) continue;
    context.exit_code = 1;
    tell("{}: {} is {}, more than {}: predictions from this calibration are off\n", folder,
         gate.name, validation::figure_text(gate.figure, gate.unit),
         validation::figure_text(gate.limit, gate.unit));
  }
}

void judge_strictly(std::span<const SeriesReport> reports, Context& context) {
  for (const std::string& found : validation::unexpected(reports, validation::expected_misses())) {
    context.exit_code = 1;
    tell("{}\n", found);
  }
}

void validate(const ValidateOptions& options, Context& context) {
  std::vector<Work> work = open_series(options);
  run_tasks(work, options.workers, context.quiet);
  if (options.transfer) return validate_transfer(work, options);
  std::vector<SeriesReport> reports;
  for (const Work& series : work) {
    reports.push_back(series.report());
    print_text(validation::validation_text(reports.back()));
  }
  const std::vector<SeriesReport> training = training_reports(work, reports);
  const SeriesReport total = validation::training_total(training);
  if (training.size() > 1) print_text(validation::validation_text(total));
  std::vector<Output> outputs;
  if (!options.folder.empty()) {
    for (const auto& [name, page] : pages_of(work, reports, total)) {
      const auto file = std::filesystem::path(options.folder) / name;
      outputs.push_back({file.string(), [text = page] { return text; }});
    }
    if (work.size() == validation::series_catalogue().size()) {
      const std::filesystem::path folder(options.folder);
      outputs.push_back({(folder / "constants.md").string(),
                         [&] { return validation::constants_page(reports); }});
      outputs.push_back({(folder / "intervals.md").string(), [&] {
                           return validation::intervals_page(reports, config::shipped_doubts());
                         }});
    }
  }
  if (training.size() > 1) reports.push_back(total);
  outputs.push_back(
      {options.json, [&] { return json_text(validation::validation_json(reports)); }});
  write_outputs(outputs);
  if (!options.calibrated.empty()) {
    judge_calibrated(options.calibrated, reports.front(), context);
  } else if (options.strict) {
    // The total is judged where it is of all series.
    judge_strictly(std::span(reports).first(options.series.empty() ? reports.size() : work.size()),
                   context);
  }
}

/// A folder that is there.
CLI::Validator calibrated_node() {
  return {[](const std::string& folder) -> std::string {
            std::error_code none;
            if (std::filesystem::is_directory(folder, none)) return "";
            return fmt::format(
                "'{}' is no folder; expected what 'gradwire calibrate fit' wrote of a node",
                plain_line(shortened(folder)));
          },
          ""};
}

std::vector<std::string> series_names() {
  std::vector<std::string> names;
  for (const SeriesEntry& entry : validation::series_catalogue()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

void add_validate(CLI::App& app, Context& context) {
  auto options = std::make_shared<ValidateOptions>();
  const std::vector<std::string> names = series_names();
  CLI::App* command = app.add_subcommand(
      "validate", "Predict the measurements that ship, and report the error of every row");
  command
      ->add_option("SERIES", options->series,
                   fmt::format("{} (default: all)", joined_by(names, " | ")))
      ->check(one_of(names));
  command
      ->add_option("--calibrated", options->calibrated,
                   "Predict a calibrated node itself instead: a folder that 'calibrate fit' wrote. "
                   "Errors beyond 5 % exit with 1")
      ->check(calibrated_node())
      ->excludes("SERIES")
      ->type_name("DIR");
  command
      ->add_option("-j,--jobs", options->workers,
                   "Tables that are predicted at the same time (default: one a core)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->add_option("--json", options->json, "Write gradwire.validation/1")
      ->check(writable_file());
  command
      ->add_option("--write", options->folder,
                   "Write the pages (collectives.md, training.md, constants.md, intervals.md) of "
                   "whole sets of series")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command
      ->add_flag("--transfer", options->transfer,
                 "Predict the training jobs by names alone, with the rate of one GPU, with what is "
                 "fitted and with one measured run, beside what needs no simulator; --write makes "
                 "transfer.md")
      ->excludes("--calibrated");
  command->add_flag(
      "--strict", options->strict,
      "Exit with 1 when a gate is missed that results/reference/expected_misses.yaml does "
      "not list, or met that it lists");
  command->footer(
      "Rows that a constant was fitted to (calibrate) and rows that were not (score) are reported "
      "apart.\n"
      "Examples:\n"
      "  gradwire validate collectives\n"
      "  gradwire validate collectives --write results/reference\n"
      "  gradwire validate ddpbench single_gpu --strict\n"
      "  gradwire validate --transfer lbsgd22 dle\n"
      "  gradwire validate --calibrated profiles/mycluster\n"
      "The last one needs the folder that 'gradwire calibrate fit' wrote of your node "
      "(docs/calibrate.md).");
  command->callback([options, &context] { validate(*options, context); });
}

}  // namespace gradwire::cli
