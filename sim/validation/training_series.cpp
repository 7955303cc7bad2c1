#include "sim/validation/training_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/validation/pages.hpp"
#include "sim/validation/training_file.hpp"
#include "sim/validation/training_fit.hpp"
#include "sim/validation/transfer.hpp"

namespace gradwire::validation {
namespace {

constexpr double gate_ranks = 0.90;

std::vector<TrainingFile> read_files_of_rates() {
  std::vector<TrainingFile> files;
  for (const SeriesEntry& entry : series_catalogue()) {
    const auto& document = config::loaded_yaml(reference_file(std::string(entry.name) + ".yaml"));
    if (document.find("schema")->text != training_schema) continue;
    TrainingFile file = read_training_file(document);
    if (!is_memory(file.unit)) files.push_back(std::move(file));
  }
  return files;
}

/// Of all series, each of which may learn from the others.
const std::vector<TrainingFile>& files_of_rates() {
  static const std::vector<TrainingFile> files = read_files_of_rates();
  return files;
}

const std::vector<MeasuredRun>& all_runs() {
  static const std::vector<MeasuredRun> runs = measured_runs(files_of_rates());
  return runs;
}

/// A task is a group of rows, as TrainingSeries has it.
class Transfer final : public Series {
 public:
  Transfer(const std::string& name, Predict predict)
      : file_(*std::ranges::find(files_of_rates(), name, &TrainingFile::name)),
        runs_(all_runs()),
        predict_(std::move(predict)) {}

  [[nodiscard]] std::size_t tasks() const override { return file_.groups.size(); }
  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override {
    return transfer_rows(file_, file_.groups[task], runs_, predict_);
  }
  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> /*rows*/) const override { return {}; }

 private:
  const TrainingFile& file_;
  const std::vector<MeasuredRun>& runs_;
  Predict predict_;
};

/// One group of rows is one task: the fit goes before its predictions.
class TrainingSeries final : public Series {
 public:
  TrainingSeries(const std::string& name, Predict predict)
      : file_(read_training_file(config::loaded_yaml(reference_file(name + ".yaml")))),
        predict_(std::move(predict)) {}

  [[nodiscard]] std::size_t tasks() const override { return file_.groups.size(); }

  [[nodiscard]] std::vector<Row> rows(std::size_t task) const override {
    const TrainingGroup& group = file_.groups[task];
    return predict_group(file_, group, fit_group(file_, group, predict_), predict_);
  }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    std::vector<Gate> gates;
    for (const TrainingGate& gate : file_.gates) {
      const Errors errors = errors_of(
          rows, [&](const Row& row) { return row.role == "score" && row.gate == gate.name; });
      const bool known = errors.rows > errors.failed;
      const auto add = [&](const char* what, double figure, double limit) {
        gates.push_back({.name = fmt::format("{}: {}", gate.name, what),
                         .figure = figure,
                         .limit = limit,
                         .unit = "%",
                         .known = known,
                         .note = fmt::format("{} rows", errors.rows - errors.failed)});
      };
      add("median", errors.median, gate.median);
      if (gate.p90 > 0) add("p90", errors.p90, gate.p90);
      if (gate.worst > 0) add("worst", errors.worst, gate.worst);
      gates.push_back({.name = gate.name + ": rows without a prediction",
                       .figure = static_cast<double>(errors.failed),
                       .limit = 0,
                       .note = {}});
    }
    return gates;
  }

  [[nodiscard]] std::string page(const SeriesReport& report) const override {
    return training_section(file_, report);
  }

  [[nodiscard]] std::unique_ptr<Series> transfer() const override {
    if (is_memory(file_.unit)) return nullptr;  // what is known of rates tells nothing of it
    return std::make_unique<Transfer>(file_.name, predict_);
  }

 private:
  TrainingFile file_;
  Predict predict_;
};

}  // namespace

std::unique_ptr<Series> open_training(const std::string& name, const Predict& predict) {
  return std::make_unique<TrainingSeries>(name, predict);
}

SeriesReport training_total(std::span<const SeriesReport> reports) {
  Agreement total;
  for (const SeriesReport& report : reports) {
    const Agreement agreement = rank_agreement(report.rows);
    total.pairs += agreement.pairs;
    total.agreeing += agreement.agreeing;
  }
  const double share =
      total.pairs == 0 ? 0 : static_cast<double>(total.agreeing) / static_cast<double>(total.pairs);
  return {"training",
          "all series of training.md together",
          {},
          {{.name = "two ways to train ranked as measured",
            .figure = share,
            .limit = gate_ranks,
            .unit = "%",
            .least = true,
            .known = total.pairs > 0,
            .note = fmt::format("{} of {} pairs", total.agreeing, total.pairs)}}};
}

}  // namespace gradwire::validation
