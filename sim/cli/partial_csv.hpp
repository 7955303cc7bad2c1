#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/csv.hpp"

namespace gradwire::cli {

/// The rows of a sweep that are done so far, in the order in which they ended, in FILE.partial:
/// what is left of a sweep that is killed before it writes FILE. Each row is on the disk when add()
/// returns. The columns are those of the first row that has a result; rows that failed before it
/// follow it.
class PartialCsv {
 public:
  /// @param csv  the name of the whole file; "" or something else than a regular file: nothing is
  /// written.
  explicit PartialCsv(const std::string& csv);
  ~PartialCsv();
  PartialCsv(const PartialCsv&) = delete;
  PartialCsv& operator=(const PartialCsv&) = delete;

  /// Where the rows go; "" when nothing is written.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Is there one that a killed sweep left? The first row replaces it.
  [[nodiscard]] bool is_left() const;
  /// @return why the row could not be written, once: later rows are not tried, and the file ends
  /// with the last whole row.
  std::optional<std::string> add(const ResultRow& row);
  /// The whole file is there.
  void remove();

 private:
  bool append(const std::string& text);

  std::string path_;
  int file_ = -1;
  bool failed_ = false;
  std::optional<CsvLines> lines_;
  std::vector<ResultRow> waiting_;  ///< failed before the columns were known
  std::size_t size_ = 0;            ///< bytes of whole rows
};

}  // namespace gradwire::cli
