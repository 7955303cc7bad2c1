#include "sim/validation/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "sim/core/outgoing_text.hpp"
#include "sim/validation/training_fit.hpp"

namespace gradwire::validation {
namespace {

constexpr const char* one_gpu = "one GPU";
constexpr const char* fitted_batch = "fitted";
constexpr const char* linear_scaling = "linear scaling";
constexpr const char* same_mfu = "same MFU";

/// What `ranks` times the rate of one GPU is in the file's unit; 0: it cannot be said.
double scaled(const std::string& unit, double rate_of_one, int ranks) {
  if (unit == "x") return ranks;
  if (unit == "samples/s") return rate_of_one * ranks;
  return unit == "samples/s/GPU" ? rate_of_one : 0;
}

Row transfer_row(const TrainingFile& file, const TrainingRow& measured, const char* known) {
  return {.group = known,
          .label = measured.id,
          .role = "score",
          .unit = file.unit,
          .measured = measured.measured};
}

/// A language model's row, whose rate can be said as a share of its GPUs' peak.
struct ModelRow {
  const TrainingRow* row = nullptr;
  double rate_at_peak = 0;  ///< of a GPU that does nothing but the model's operations, samples/s
};

bool has_utilisation(const TrainingFile& file, const RunResult& result) {
  return file.unit != "x" && scaled(file.unit, 1, 1) > 0 && result.tokens_per_sample > 0 &&
         result.model_flops > 0 && result.peak_flops > 0;
}

/// Adds the models' rows as if all reached of their peak what the first on the fewest GPUs did.
void add_same_mfu(const TrainingFile& file, std::span<const ModelRow> models,
                  std::vector<Row>& rows) {
  const auto base =
      std::ranges::min_element(models, {}, [](const ModelRow& model) { return model.row->gpus(); });
  for (const ModelRow& model : models) {
    if (model.row == base->row) continue;
    const double mfu =
        base->row->measured / scaled(file.unit, base->rate_at_peak, base->row->gpus());
    Row& row = rows.emplace_back(transfer_row(file, *model.row, same_mfu));
    row.predicted = scaled(file.unit, mfu * model.rate_at_peak, model.row->gpus());
  }
}

std::string cell(const Errors& errors, double figure) {
  return errors.rows == errors.failed ? "" : fmt::format("{:.1f} %", 100 * figure);
}

void append_line(std::string& text, const std::string& name, std::span<const Row> rows) {
  text += fmt::format("| {} | {} ", name, errors_in(rows, fitted_batch).rows);
  for (const char* known : {names_alone, one_gpu, fitted_batch}) {
    const Errors errors = errors_in(rows, known);
    text += fmt::format("| {} | {} ", cell(errors, errors.median), cell(errors, errors.p90));
  }
  double best = 0;
  double skill = 0;
  for (const char* null : {linear_scaling, smallest_run, same_mfu}) {
    const Errors errors = errors_in(rows, null);
    text += fmt::format("| {}{} ", cell(errors, errors.median),
                        errors.rows == 0 ? "" : fmt::format(" of {}", errors.rows));
    if (errors.rows == 0 || (best > 0 && errors.median >= best)) continue;
    best = errors.median;
    skill = 1 - errors_where(rows, fitted_batch, null).median / best;
  }
  text += best > 0 ? fmt::format("| {:+.2f} |\n", skill) : "| |\n";
}

constexpr const char* transfer_introduction =
    R"(# What predictions gain from what is known

Made by `gradwire validate --transfer --write results/reference`: the rows that no constant is fitted to, once by
names alone (nothing measured is used), once with the published rate of one GPU, and once with the constants that
a series fits to other rows of its own (fewer GPUs or one method of several: training.md says which). Beside them what
needs no simulator: *linear scaling* of one GPU's rate, and *smallest run*, the time that the fewest GPUs of the same job
took, and of language models *same MFU*, the share of the peak that the group's first row on its fewest GPUs reached, each with the
number of rows that it has. Skill: one less the median |error| of *fitted* over that of the best of the three, on these rows; 0 is
no better, 1 perfect.

| series | rows | names alone: median | p90 | one GPU: median | p90 | fitted: median | p90 | linear scaling | smallest run | same MFU | skill |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
)";

}  // namespace

std::vector<Row> transfer_rows(const TrainingFile& file, const TrainingGroup& group,
                               std::span<const MeasuredRun> runs, const Predict& predict) {
  std::vector<Row> rows;
  const std::vector<FittedValue> values = fit_group(file, group, predict);
  std::vector<ModelRow> models;
  for (const TrainingRow& measured : group.rows) {
    if (measured.role != "score") continue;
    const auto add = [&](const char* known) -> Row& {
      return rows.emplace_back(transfer_row(file, measured, known));
    };
    const auto simulate = [&](const char* known, const TrainingRow& of,
                              const std::vector<FittedValue>& with) -> std::optional<RunResult> {
      Row& row = add(known);
      try {
        RunResult result = predict(scenario_of(file, of, with));
        row.predicted = in_unit(result, file.unit);
        return result;
      } catch (const std::runtime_error& error) {
        row.failure = error.what();
        return std::nullopt;
      }
    };
    simulate(names_alone, by_names_alone(measured), {});
    if (knows_one_gpu(measured)) simulate(one_gpu, measured, {});
    if (const auto result = simulate(fitted_batch, measured, values);
        result && has_utilisation(file, *result)) {
      models.push_back({&measured, result->peak_flops / result->model_flops});
    }
    const double linear = scaled(file.unit, measured.single_gpu, measured.gpus());
    if (measured.single_gpu > 0 && linear > 0) add(linear_scaling).predicted = linear;
    if (const TrainingRow* smallest = smallest_run_of(group, measured)) {
      add(smallest_run).predicted = in_time_of(file, *smallest, measured);
    }
  }
  add_same_mfu(file, models, rows);
  std::ranges::move(one_run_rows(file, group, runs, predict), std::back_inserter(rows));
  return rows;
}

std::string transfer_page(std::span<const SeriesReport> reports) {
  std::string text = transfer_introduction;
  std::vector<Row> all;
  for (const SeriesReport& report : reports) {
    append_line(text, markdown_name(report.name), report.rows);
    for (Row row : report.rows) {
      row.label = report.name + " " + row.label;
      all.push_back(std::move(row));
    }
  }
  append_line(text, "**all**", all);
  return text + one_run_section(reports);
}

}  // namespace gradwire::validation
