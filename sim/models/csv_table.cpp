#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/models/table_cells.hpp"

namespace gradwire::table {
namespace {

/// Fields of one line; double quotes and brackets hold separators together.
std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  int brackets = 0;
  for (const char letter : line) {
    if (letter == '"') {
      quoted = !quoted;
      continue;
    }
    if (letter == '[' || letter == '(') ++brackets;
    if (letter == ']' || letter == ')') --brackets;
    if (letter == separator && !quoted && brackets <= 0) {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

char separator_of(const std::string& header) {
  for (const char separator : {'\t', ';', ','}) {
    if (header.find(separator) != std::string::npos) return separator;
  }
  return ',';
}

std::vector<Column> csv_columns(const std::vector<std::string>& titles, const std::string& file,
                                int line) {
  static const std::map<std::string, Column> known = {{"name", Column::name},
                                                      {"layer", Column::name},
                                                      {"kind", Column::kind},
                                                      {"type", Column::kind},
                                                      {"op", Column::kind},
                                                      {"input", Column::input},
                                                      {"input_shape", Column::input},
                                                      {"output", Column::output},
                                                      {"output_shape", Column::output},
                                                      {"kernel", Column::kernel},
                                                      {"kernel_shape", Column::kernel},
                                                      {"kernel_size", Column::kernel},
                                                      {"parameters", Column::parameters},
                                                      {"params", Column::parameters}};
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& [name, column] : known) names.push_back(name);
  std::vector<Column> columns;
  for (const std::string& title : titles) {
    const auto found = known.find(trimmed(title));
    if (found == known.end()) {
      fail(file, line,
           fmt::format("no column is called '{}'; expected {}{}", trimmed(title),
                       joined_by(names, ", "), suggestion(trimmed(title), names)));
    }
    columns.push_back(found->second);
  }
  for (const Column column : {Column::name, Column::kind}) {
    if (std::ranges::find(columns, column) != columns.end()) continue;
    fail(file, line,
         fmt::format("the table has no column '{}'; expected name, kind, input, output, kernel, "
                     "parameters",
                     column == Column::name ? "name" : "kind"));
  }
  check_columns(columns, file, line);
  return columns;
}

}  // namespace

std::vector<TableRow> read_csv(const std::vector<std::string>& lines, std::size_t header,
                               const std::string& file) {
  const char separator = separator_of(lines[header]);
  const auto columns =
      csv_columns(split(lines[header], separator), file, static_cast<int>(header) + 1);
  std::vector<TableRow> rows;
  for (std::size_t i = header + 1; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    TableRow row;
    row.line = static_cast<int>(i) + 1;
    check_length(lines[i], file, row.line);
    const auto fields = split(lines[i], separator);
    if (fields.size() != columns.size()) {
      fail(file, row.line,
           fmt::format("the row has {} values; expected {}, one a column of the header",
                       fields.size(), columns.size()));
    }
    for (std::size_t f = 0; f < fields.size(); ++f) set_field(row, columns[f], fields[f], file);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gradwire::table
