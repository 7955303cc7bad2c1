#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/models/model_table.hpp"

/// What the readers of layer tables share (sim/models/model_table_text.cpp).
namespace gradwire::table {

enum class Column : std::uint8_t { name, kind, input, output, kernel, parameters, ignored };

/// @throws ConfigError for a line of a table, at its first column.
[[noreturn]] void fail(const std::string& file, int line, const std::string& message);

/// Without the blanks at both ends.
[[nodiscard]] std::string trimmed(const std::string& text);

/// @throws ConfigError where the digits are no whole number below 2^63.
[[nodiscard]] std::int64_t number(const std::string& digits, const std::string& file, int line);

/// Refuses a row that the readers' expressions cannot take.
/// @throws ConfigError
void check_length(const std::string& row, const std::string& file, int line);

/// Refuses a table whose columns lack what a layer needs.
/// @throws ConfigError
void check_columns(const std::vector<Column>& columns, const std::string& file, int line);

/// Reads one cell into the row's field.
/// @throws ConfigError where the text is no name, shape or count.
void set_field(TableRow& row, Column column, const std::string& text, const std::string& file);

/// The rows of torchinfo's summary whose header is line `header` (from 0).
/// @throws ConfigError
[[nodiscard]] std::vector<TableRow> read_torchinfo(const std::vector<std::string>& lines,
                                                   std::size_t header, const std::string& file);

/// The rows of a CSV table whose header is line `header` (from 0).
/// @throws ConfigError
[[nodiscard]] std::vector<TableRow> read_csv(const std::vector<std::string>& lines,
                                             std::size_t header, const std::string& file);

}  // namespace gradwire::table
