#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/result.hpp"

namespace gradwire::validation {

/// One prediction beside its measurement.
struct Row {
  std::string group{};  ///< what the row is listed under: a table of measurements
  std::string gate{};   ///< the gate that counts it: "a" to "e", or ""
  std::string label{};  ///< within the group: "1 MiB", "resnet50 on 8 GPUs"
  std::string how{};    ///< of the prediction: "ring ll", "" when there is nothing to tell
  std::string role{};   ///< "calibrate" (fitted to), "score" or "show" (under no gate)
  std::string unit{};   ///< of both numbers: "us", "ms", "samples/s", "%"
  double measured = 0;
  double predicted = 0;
  double low = 0;  ///< the prediction's interval, of nine jobs in ten; both 0: it has none
  double high = 0;
  double bytes = 0;           ///< size of the collective; 0 where there is none
  double spread = 0;          ///< of repeated measurements, relative; 0 where there are none
  double limit = 0;           ///< the row misses where |error| is above; 0 for none
  double limit_factor = 0;    ///< the same for factor(); 0 for none
  bool other_choice = false;  ///< the prediction is of another choice than the measured one: a miss
  /// Rows of one name are alternatives for one thing, whose order a prediction should keep. In per
  /// cent, a row is already the difference between two alternatives, and its sign tells the order.
  std::string compared{};
  std::vector<Doubt> doubts{};  ///< that the interval is made of
  std::string missing{};        ///< the mechanism that is thought to be missing
  std::string failure{};        ///< why there is no prediction, "" when there is one

  /// Relative; of numbers in per cent the difference in points (0.01 is one).
  [[nodiscard]] double error() const;
  /// How many times too high or too low: at least 1.
  [[nodiscard]] double factor() const;
  [[nodiscard]] bool missed() const;
  /// Sets low and high by how far off the predicted time may be. A rate is high where it is low.
  void set_interval(const RelativeError& of_time);
  [[nodiscard]] bool has_interval() const { return failure.empty() && high > 0; }
};

/// A claim on a series, with what was found.
struct Gate {
  std::string name{};  ///< "a: median from 8 MiB up"
  double figure = 0;
  double limit = 0;
  std::string unit{};  ///< "%", "x" (a factor), "" for a count
  bool least = false;  ///< the figure is to be at least the limit, not at most
  bool known = true;   ///< false: there was nothing to judge
  std::string note{};  ///< "12 of 18 tables by themselves"

  [[nodiscard]] bool met() const;
};

/// |error| of the rows of a role: calibration and scored rows are never reported together.
struct Errors {
  std::size_t rows = 0;
  std::size_t missed = 0;
  std::size_t failed = 0;  ///< rows without a prediction, in none of the figures
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
  double bias = 0;  ///< mean of the errors with their signs
};
[[nodiscard]] Errors errors_of(std::span<const Row> rows, const std::string& role);
/// Figures of the rows that `chosen` takes; failed ones are left out.
[[nodiscard]] Errors errors_of(std::span<const Row> rows,
                               const std::function<bool(const Row&)>& chosen);

/// Those of the rows of a group.
[[nodiscard]] Errors errors_in(std::span<const Row> rows, const std::string& group);
/// Those of them whose label a row with a prediction in the group `other` has as well.
[[nodiscard]] Errors errors_where(std::span<const Row> rows, const std::string& group,
                                  const std::string& other);

/// Predictions with an interval that no constant was fitted to, and how wide and good these are.
struct Coverage {
  std::size_t rows = 0;
  std::size_t inside = 0;  ///< measured within the interval
  double width = 0;        ///< half of the interval over the prediction, the median
};
/// Of the rows that are scored or shown.
[[nodiscard]] Coverage coverage_of(std::span<const Row> rows);

/// How often a prediction puts two alternatives in the order in which they were measured.
struct Agreement {
  std::size_t pairs = 0;
  std::size_t agreeing = 0;
};
/// Over all pairs of rows with the same `compared` whose measurements differ by more than 5 % of
/// the larger, and rows that are differences; a difference measured as zero does not count.
[[nodiscard]] Agreement rank_agreement(std::span<const Row> rows);

struct SeriesReport {
  std::string name{};
  std::string summary{};
  std::vector<Row> rows;
  std::vector<Gate> gates;
};

/// Pairs of alternatives of which one is said to be faster with odds in a range.
struct SaidOdds {
  double low = 0;  ///< of the range
  double high = 0;
  std::size_t pairs = 0;
  double said = 0;        ///< the odds of all of them together
  std::size_t right = 0;  ///< pairs in which it was measured to be
};
/// What odds_of_faster says of all pairs of rows with the same `compared`, however little they
/// differ, and how often that is so; in five ranges from 50 % on. Pairs that are measured or
/// predicted as equal tell no order.
[[nodiscard]] std::vector<SaidOdds> said_odds(std::span<const SeriesReport> reports);

/// Rows pass from a worker's process to the command as JSON.
[[nodiscard]] nlohmann::ordered_json rows_json(std::span<const Row> rows);
[[nodiscard]] std::vector<Row> rows_of(const nlohmann::ordered_json& json);

/// gradwire.validation/1.
[[nodiscard]] nlohmann::ordered_json validation_json(std::span<const SeriesReport> reports);

/// Everything as text: rows by group, then figures and gates.
[[nodiscard]] std::string validation_text(const SeriesReport& report);

/// "12.3 %", "1.45 x", "25".
[[nodiscard]] std::string figure_text(double value, const std::string& unit);

}  // namespace gradwire::validation
