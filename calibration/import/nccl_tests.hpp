#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/measured_table.hpp"

namespace gradwire {

/// What the user says where the file does not, or against it.
struct NcclTestsOptions {
  std::optional<CollectiveKind> op{};  ///< absent: from the program's name in the file
  int ranks = 0;                       ///< 0: from the list of devices in the file
  int nodes = 0;                       ///< 0: same
  bool in_place = false;               ///< which of the two times is taken
};

/// The tables of one file, and what the user should know of the reading.
struct ImportedTables {
  std::vector<MeasuredSeries> series;
  std::vector<std::string> notes;
};

/// Reads the output of nccl-tests: text of any version (its header line says which columns there
/// are, with or without redop, root, statistics), or the JSON of its option -J, by the first
/// letter. Several tables may follow each other, NCCL's INFO and WARN lines stand between or at the
/// end of rows. Of several measurements of one size the median is taken. Rows of 0 bytes are left
/// out. @param file  the name that errors and sources give.
/// @throws ConfigError at the place in the file: no table, a row cut short or without the wanted
///         time, ranks or an operation that are nowhere said.
[[nodiscard]] ImportedTables read_nccl_tests(const std::string& text, const std::string& file,
                                             const NcclTestsOptions& options);

/// The tables of several files: of one operation, rank count and machine count measured in several,
/// each size's median over the files, which its source then names.
[[nodiscard]] ImportedTables merge_files(std::vector<ImportedTables> files);

/// The operation of a program's name ("all_reduce_perf") in a text; of the last where there are
/// several.
[[nodiscard]] std::optional<CollectiveKind> nccl_tests_operation(std::string_view text);

}  // namespace gradwire
