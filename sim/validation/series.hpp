#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/core/result.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// Simulates one scenario; what runs the commands gives it.
using Predict = std::function<RunResult(const config::Scenario&)>;

/// Shipped measurements with the way to predict them, read and ready.
class Series {
 public:
  virtual ~Series() = default;

  /// Parts of the work that do not need each other, each good for a process of its own.
  [[nodiscard]] virtual std::size_t tasks() const = 0;
  /// REQUIRES: `task` < tasks(). The same task gives the same rows.
  [[nodiscard]] virtual std::vector<Row> rows(std::size_t task) const = 0;
  /// @param rows  of all tasks, in their order.
  [[nodiscard]] virtual std::vector<Gate> gates(std::span<const Row> rows) const = 0;
  /// The page that is committed, or its section of a page that several share, Markdown; "" for a
  /// series that has none.
  [[nodiscard]] virtual std::string page(const SeriesReport& /*report*/) const { return ""; }
  /// The same measurements under all that could be known of them (transfer.hpp), as one more
  /// series; none where they are no training jobs.
  [[nodiscard]] virtual std::unique_ptr<Series> transfer() const { return nullptr; }
};

struct SeriesEntry {
  std::string_view name;
  std::string_view summary;  ///< one line
  std::string_view page;     ///< the file of Series::page; one that several share has a head
  /// Reads the shipped files. @throws ConfigError at the place in the file.
  std::function<std::unique_ptr<Series>(const Predict& predict)> open;
};

/// Every series that `gradwire validate` knows. To add one, add one line to series.cpp.
[[nodiscard]] std::span<const SeriesEntry> series_catalogue();

/// The page that these series share; it has a head of its own.
inline constexpr std::string_view training_page = "training.md";

/// The page of what calibration/lab measured.
inline constexpr std::string_view lab_page = "lab.md";

/// The page of language models.
inline constexpr std::string_view llm_page = "llm.md";

/// A file of results/reference that ships: "collectives.yaml".
[[nodiscard]] std::string reference_file(const std::string& name);

}  // namespace gradwire::validation
