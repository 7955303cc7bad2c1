#include "sim/validation/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/pair_odds.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire::validation {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* percentage_points = "%";  ///< unit of rows whose error is a difference
/// Alternatives that were measured closer to each other are not ranked: repeated runs of one job
/// differ by as much (ddl-benchmarks' ByteScheduler: 5 to 10 %).
constexpr double rank_difference = 0.05;

Json doubts_json(const std::vector<Doubt>& doubts) {
  Json list = Json::array();
  for (const Doubt& doubt : doubts) {
    list.push_back({{"name", doubt.name},
                    {"low", doubt.low},
                    {"high", doubt.high},
                    {"width", doubt.width},
                    {"of", doubt.of}});
  }
  return list;
}

std::vector<Doubt> doubts_of(const Json& list) {
  std::vector<Doubt> doubts;
  for (const Json& doubt : list) {
    doubts.push_back({doubt.at("name").get<std::string>(), doubt.at("low").get<double>(),
                      doubt.at("high").get<double>(), doubt.at("width").get<std::string>(),
                      doubt.at("of").get<double>()});
  }
  return doubts;
}

Json row_json(const Row& row) {
  Json json = {{"group", row.group},
               {"gate", row.gate},
               {"label", row.label},
               {"how", row.how},
               {"role", row.role},
               {"unit", row.unit},
               {"measured", row.measured},
               {"low", row.low},
               {"high", row.high},
               {"bytes", row.bytes},
               {"spread", row.spread},
               {"limit", row.limit},
               {"limit_factor", row.limit_factor},
               {"other_choice", row.other_choice},
               {"compared", row.compared},
               {"missing", row.missing},
               {"failure", row.failure}};
  if (!row.doubts.empty()) json["doubts"] = doubts_json(row.doubts);
  json["predicted"] = row.failure.empty() ? Json(row.predicted) : Json(nullptr);
  return json;
}

Row row_of(const Json& json) {
  Row row;
  for (const auto& [name, text] :
       {std::pair{"group", &row.group}, std::pair{"gate", &row.gate},
        std::pair{"label", &row.label}, std::pair{"how", &row.how}, std::pair{"role", &row.role},
        std::pair{"unit", &row.unit}, std::pair{"compared", &row.compared},
        std::pair{"missing", &row.missing}, std::pair{"failure", &row.failure}}) {
    *text = json.at(name).get<std::string>();
  }
  for (const auto& [name, number] :
       {std::pair{"measured", &row.measured}, std::pair{"low", &row.low},
        std::pair{"high", &row.high}, std::pair{"bytes", &row.bytes},
        std::pair{"spread", &row.spread}, std::pair{"limit", &row.limit},
        std::pair{"limit_factor", &row.limit_factor}}) {
    *number = json.at(name).get<double>();
  }
  row.other_choice = json.at("other_choice").get<bool>();
  if (json.contains("doubts")) row.doubts = doubts_of(json.at("doubts"));
  if (row.failure.empty()) row.predicted = json.at("predicted").get<double>();
  return row;
}

Json errors_json(const Errors& errors) {
  return {{"rows", errors.rows},   {"missed", errors.missed}, {"failed", errors.failed},
          {"mean", errors.mean},   {"median", errors.median}, {"p90", errors.p90},
          {"worst", errors.worst}, {"bias", errors.bias}};
}

bool takes_part(const Row& row) {
  return !row.compared.empty() && row.failure.empty();
}

/// Calls `use` with every two rows that are alternatives for one thing.
template <class Use>
void for_each_pair(std::span<const Row> rows, const Use& use) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!takes_part(rows[i]) || rows[i].unit == percentage_points) continue;
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      if (takes_part(rows[j]) && rows[i].compared == rows[j].compared) use(rows[i], rows[j]);
    }
  }
}

}  // namespace

double Row::error() const {
  return unit == percentage_points ? (predicted - measured) / 100 : predicted / measured - 1;
}

void Row::set_interval(const RelativeError& of_time) {
  const bool is_time = unit == "ms";
  low = predicted * (is_time ? 1 - of_time.low : 1 / (1 + of_time.high));
  high = predicted * (is_time ? 1 + of_time.high : 1 / (1 - of_time.low));
}

double Row::factor() const {
  return std::max(predicted / measured, measured / predicted);
}

bool Row::missed() const {
  if (!failure.empty() || other_choice) return true;
  return (limit > 0 && std::abs(error()) > limit) || (limit_factor > 0 && factor() > limit_factor);
}

bool Gate::met() const {
  return known && (least ? figure >= limit : figure <= limit);
}

Errors errors_of(std::span<const Row> rows, const std::function<bool(const Row&)>& chosen) {
  Errors result;
  std::vector<double> values;
  double signed_sum = 0;
  for (const Row& row : rows) {
    if (!chosen(row)) continue;
    ++result.rows;
    result.missed += row.missed() ? 1U : 0U;
    result.failed += row.failure.empty() ? 0U : 1U;
    if (!row.failure.empty()) continue;
    values.push_back(std::abs(row.error()));
    signed_sum += row.error();
  }
  if (values.empty()) return result;
  const std::vector<double> once(values.size(), 1);
  const PooledSamples samples(values, once);
  result.mean = mean(values);
  result.median = samples.percentile(50);
  result.p90 = samples.percentile(90);
  result.worst = samples.percentile(100);
  result.bias = signed_sum / static_cast<double>(values.size());
  return result;
}

Errors errors_of(std::span<const Row> rows, const std::string& role) {
  return errors_of(rows, [&](const Row& row) { return row.role == role; });
}

Errors errors_in(std::span<const Row> rows, const std::string& group) {
  return errors_of(rows, [&](const Row& row) { return row.group == group; });
}

Errors errors_where(std::span<const Row> rows, const std::string& group, const std::string& other) {
  std::set<std::string> labels;
  for (const Row& row : rows) {
    if (row.group == other && row.failure.empty()) labels.insert(row.label);
  }
  return errors_of(
      rows, [&](const Row& row) { return row.group == group && labels.contains(row.label); });
}

Coverage coverage_of(std::span<const Row> rows) {
  Coverage result;
  std::vector<double> widths;
  for (const Row& row : rows) {
    if (row.role == "calibrate" || !row.has_interval()) continue;
    ++result.rows;
    result.inside += row.low <= row.measured && row.measured <= row.high ? 1U : 0U;
    widths.push_back((row.high - row.low) / (2 * row.predicted));
  }
  if (widths.empty()) return result;
  const std::vector<double> once(widths.size(), 1);
  result.width = PooledSamples(widths, once).percentile(50);
  return result;
}

namespace {

/// Relative: predictions that differ by less are the same, but for rounding. Of the same job,
/// simulated another way, they agree to 1e-9 (tests/engine).
constexpr double same_prediction = 1e-9;

/// What one is predicted beyond the other; 0: they are the same.
double faster_by(const Row& one, const Row& other) {
  const double difference = one.predicted - other.predicted;
  const double larger = std::max(std::abs(one.predicted), std::abs(other.predicted));
  return std::abs(difference) <= same_prediction * larger ? 0 : difference;
}

}  // namespace

Agreement rank_agreement(std::span<const Row> rows) {
  Agreement result;
  const auto count = [&](double measured, double predicted) {
    if (measured == 0) return;
    ++result.pairs;
    result.agreeing += measured * predicted > 0 ? 1U : 0U;
  };
  for (const Row& row : rows) {
    if (takes_part(row) && row.unit == percentage_points) count(row.measured, row.predicted);
  }
  for_each_pair(rows, [&](const Row& one, const Row& other) {
    const double difference = one.measured - other.measured;
    const double larger = std::max(one.measured, other.measured);
    if (std::abs(difference) <= rank_difference * larger) return;
    count(difference, faster_by(one, other));
  });
  return result;
}

std::vector<SaidOdds> said_odds(std::span<const SeriesReport> reports) {
  std::vector<SaidOdds> ranges;
  for (int tenth = 5; tenth < 10; ++tenth) {
    ranges.push_back({.low = tenth / 10.0, .high = (tenth + 1) / 10.0});
  }
  const auto count = [&](const Row& one, const Row& other) {
    const double measured = one.measured - other.measured;
    const double predicted = faster_by(one, other);
    if (measured * predicted == 0) return;
    const auto [low, high] = std::minmax(one.predicted, other.predicted);
    const double odds = odds_of_faster(high / low);
    SaidOdds& range =
        *std::ranges::find_if(ranges, [&](const SaidOdds& r) { return odds < r.high; });
    ++range.pairs;
    range.said += odds;
    range.right += measured * predicted > 0 ? 1U : 0U;
  };
  for (const SeriesReport& report : reports) for_each_pair(report.rows, count);
  for (SaidOdds& range : ranges) {
    if (range.pairs > 0) range.said /= static_cast<double>(range.pairs);
  }
  return ranges;
}

Json rows_json(std::span<const Row> rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(row_json(row));
  return list;
}

std::vector<Row> rows_of(const Json& json) {
  std::vector<Row> rows;
  for (const Json& row : json) rows.push_back(row_of(row));
  return rows;
}

Json validation_json(std::span<const SeriesReport> reports) {
  Json list = Json::array();
  for (const SeriesReport& report : reports) {
    Json rows = rows_json(report.rows);
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
      const Row& row = report.rows[i];
      rows[i]["error"] = row.failure.empty() ? Json(row.error()) : Json(nullptr);
      rows[i]["missed"] = row.missed();
    }
    Json gates = Json::array();
    for (const Gate& gate : report.gates) {
      gates.push_back({{"name", gate.name},
                       {"figure", gate.known ? Json(gate.figure) : Json(nullptr)},
                       {"limit", gate.limit},
                       {"unit", gate.unit},
                       {"met", gate.known ? Json(gate.met()) : Json(nullptr)},
                       {"note", gate.note}});
    }
    const Agreement agreement = rank_agreement(report.rows);
    list.push_back(
        {{"name", report.name},
         {"summary", report.summary},
         {"calibrated", errors_json(errors_of(report.rows, "calibrate"))},
         {"scored", errors_json(errors_of(report.rows, "score"))},
         {"shown", errors_json(errors_of(report.rows, "show"))},
         {"rank_agreement", {{"pairs", agreement.pairs}, {"agreeing", agreement.agreeing}}},
         {"gates", std::move(gates)},
         {"rows", std::move(rows)}});
  }
  return {{"schema", "gradwire.validation/1"}, {"series", std::move(list)}};
}

std::string figure_text(double value, const std::string& unit) {
  if (unit == "%") return fmt::format("{:.1f} %", 100 * value);
  if (unit == "x") return fmt::format("{:.2f} x", value);
  return fmt::format("{:g}{}{}", value, unit.empty() ? "" : " ", unit);
}

}  // namespace gradwire::validation
