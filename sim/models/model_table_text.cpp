#include <algorithm>
#include <cstddef>
#include <sstream>

#include "sim/models/model_table.hpp"
#include "sim/models/table_cells.hpp"

namespace gradwire {

std::vector<TableRow> read_model_table(const std::string& text, const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::vector<TableRow> rows;
  const auto torchinfo = std::ranges::find_if(
      lines, [](const std::string& line) { return line.find("Layer (type") != std::string::npos; });
  if (torchinfo != lines.end()) {
    rows = table::read_torchinfo(lines, static_cast<std::size_t>(torchinfo - lines.begin()), file);
  } else {
    const auto header = std::ranges::find_if(
        lines, [](const std::string& line) { return !table::trimmed(line).empty(); });
    if (header == lines.end()) {
      table::fail(file, 1,
                  "the file is empty; expected a table of layers (torchinfo's text or CSV)");
    }
    rows = table::read_csv(lines, static_cast<std::size_t>(header - lines.begin()), file);
  }
  if (rows.empty()) {
    table::fail(file, static_cast<int>(lines.size()),
                "the table has no layer; expected at least one row");
  }
  return rows;
}

}  // namespace gradwire
