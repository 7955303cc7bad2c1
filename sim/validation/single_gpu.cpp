#include "sim/validation/single_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/validation/published_rates.hpp"

namespace gradwire::validation {
namespace {

constexpr double gate_counted = 0.25;
constexpr double gate_grouped = 0.40;  ///< models of grouped convolutions
constexpr double gate_median = 0.12;
constexpr double gate_p90 = 0.16;
/// P100's row is fitted together with nine of another GPU.
constexpr double gate_calibration = 0.06;

const config::Fields<PublishedRate>& single_rate_fields() {
  static const config::Fields<PublishedRate> fields = {
      "single_gpu_rate", "a published rate of one GPU", published_rate_keys()};
  return fields;
}

/// The file.
struct SingleRates {
  std::vector<PublishedRate> rows;
};

const config::Fields<SingleRates>& single_rates_fields() {
  static const config::Fields<SingleRates> fields = {
      "single_gpu_rates",
      "published rates of one GPU",
      {config::inside("rows", &SingleRates::rows, single_rate_fields, "of them"),
       config::note<SingleRates>("skipped", "what is left out, and why")}};
  return fields;
}

Row single_rate_row(const PublishedRate& published) {
  const bool scored = published.scored;
  const config::AnalyticJob& job = published.job;
  Row row;
  row.role = scored ? "score" : "calibrate";
  row.group = scored ? "scored rows" : "calibration rows";
  row.unit = "/s";
  row.measured = published.rate;
  row.how = published.framework;
  const ComputeProfile profile = analytic_profile(config::shipped_hosts(), job.model, job.gpu,
                                                  job.batch, job.dtype, job.options);
  row.predicted = profile.batch_per_gpu / profile.iteration.count();
  row.set_interval(profile.model_error);
  const bool grouped = std::ranges::any_of(
      profile.layers, [](const LayerProfile& layer) { return layer.kind == "grouped_conv"; });
  row.limit = !scored ? gate_calibration : grouped ? gate_grouped : gate_counted;
  row.gate = "rates";
  row.label = fmt::format("{} {} {} b{} {}", published.id, profile.model, profile.gpu,
                          profile.batch_per_gpu, profile.dtype);
  return row;
}

/// Where sources disagree on one job, no number is nearer to all of them than this share.
void add_spreads(std::vector<Row>& rows) {
  const auto job = [](const Row& row) { return row.label.substr(row.label.find(' ')); };
  std::map<std::string, std::vector<double>> jobs;
  for (const Row& row : rows) jobs[job(row)].push_back(row.measured);
  for (Row& row : rows) {
    const auto [low, high] = std::ranges::minmax(jobs[job(row)]);
    row.spread = (high - low) / (high + low);
  }
}

class SingleGpu final : public Series {
 public:
  SingleGpu() {
    const config::YamlValue& document = config::loaded_yaml(reference_file("single_gpu.yaml"));
    config::YamlMap map(document);
    map.require_schema("gradwire.reference.single_gpu/1");
    SingleRates rates;
    single_rates_fields().read_all(std::move(map), rates);
    for (const PublishedRate& published : rates.rows) rows_.push_back(single_rate_row(published));
    add_spreads(rows_);
    std::stable_partition(rows_.begin(), rows_.end(),
                          [](const Row& row) { return row.role == "calibrate"; });
  }

  [[nodiscard]] std::size_t tasks() const override { return 1; }
  [[nodiscard]] std::vector<Row> rows(std::size_t /*task*/) const override { return rows_; }

  [[nodiscard]] std::vector<Gate> gates(std::span<const Row> rows) const override {
    const Errors scored = errors_of(rows, "score");
    const Errors calibrated = errors_of(rows, "calibrate");
    return {{.name = "scored rows off by more than 25 % (grouped convolutions: 40 %)",
             .figure = static_cast<double>(scored.missed),
             .limit = 0},
            {.name = "median of the scored rows",
             .figure = scored.median,
             .limit = gate_median,
             .unit = "%"},
            {.name = "90th percentile of the scored rows",
             .figure = scored.p90,
             .limit = gate_p90,
             .unit = "%"},
            {.name = "worst calibration row",
             .figure = calibrated.worst,
             .limit = gate_calibration,
             .unit = "%"}};
  }

 private:
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Series> open_single_gpu() {
  return std::make_unique<SingleGpu>();
}

}  // namespace gradwire::validation
