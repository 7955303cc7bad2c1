#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/import/nccl_tests.hpp"
#include "sim/core/error.hpp"

namespace gradwire {

/// The tables of one file while they are read: rows of one operation, rank count and machine count
/// come together, whichever table they stood in.
class RunList {
 public:
  RunList(std::string file, const NcclTestsOptions& options)
      : file_(std::move(file)), options_(options) {}

  /// What a table is of; unknown parts are 0 or absent, and the options count before them.
  struct Table {
    std::optional<CollectiveKind> op;
    int ranks = 0;
    int nodes = 0;
    std::string version;
    SourceLocation where;  ///< of its header
  };

  /// Begins a table. @throws ConfigError when neither it nor the options say what it is of.
  void begin(const Table& table);
  /// A row of the table begun last; without bytes it is only counted.
  /// REQUIRES: begin() was called; time > 0.
  void add(const MeasuredRow& row);
  /// Results that nccl-tests itself found wrong.
  void add_wrong() { ++wrong_; }

  /// @throws ConfigError when there is no row.
  [[nodiscard]] ImportedTables finish() const;

 private:
  struct Rows {
    MeasuredSeries series;
    int tables = 0;
    std::map<Bytes, std::vector<MeasuredRow>> by_size;
  };

  std::string file_;
  NcclTestsOptions options_;
  std::vector<Rows> runs_;
  std::size_t current_ = 0;
  int empty_ = 0;
  int wrong_ = 0;
};

/// Reads the JSON of -J into `runs`. @throws ConfigError as read_nccl_tests.
void read_nccl_tests_json(const std::string& text, const std::string& file, bool in_place,
                          RunList& runs);

/// NCCL's version code as text: 21805 is "2.18.5", 2708 is "2.7.8" (nccl.h, NCCL_VERSION).
[[nodiscard]] std::string nccl_version_text(long long code);

}  // namespace gradwire
