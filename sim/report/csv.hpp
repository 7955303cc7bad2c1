#pragma once

#include <string>
#include <vector>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// Comma-separated values (RFC 4180), one line a row in their order: the axes, then every figure of
/// the result under its dotted name (times in seconds), then the error. Left out are the scenario,
/// lists, and what differs from one machine to another (the engine's own time).
/// REQUIRES: all rows have the same axes.
[[nodiscard]] std::string csv(const ResultRows& rows);

/// The same line by line. The columns are those of one row, which has a result unless none has.
class CsvLines {
 public:
  explicit CsvLines(const ResultRow& typical);
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string line(const ResultRow& row) const;

 private:
  std::vector<std::string> axes_;
  std::vector<std::string> places_;  ///< of the figures: JSON pointers
};

}  // namespace gradwire
