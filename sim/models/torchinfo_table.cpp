#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <regex>
#include <string_view>
#include <utility>

#include "sim/models/table_cells.hpp"

namespace gradwire::table {
namespace {

/// The titles in the order in which the header has them; the layer's own column is first.
std::vector<Column> torchinfo_columns(const std::string& header) {
  const std::array<std::pair<const char*, Column>, 7> titles = {{{"Input Shape", Column::input},
                                                                 {"Output Shape", Column::output},
                                                                 {"Kernel Shape", Column::kernel},
                                                                 {"Param #", Column::parameters},
                                                                 {"Param %", Column::ignored},
                                                                 {"Mult-Adds", Column::ignored},
                                                                 {"Trainable", Column::ignored}}};
  std::map<std::size_t, Column> found;
  for (const auto& [title, column] : titles) {
    const std::size_t at = header.find(title);
    if (at != std::string::npos) found[at] = column;
  }
  std::vector<Column> columns;
  columns.reserve(found.size());
  for (const auto& [at, column] : found) columns.push_back(column);
  return columns;
}

/// A row of the tree: how deep it stands and what it is called.
struct TreeRow {
  int depth = 0;
  std::string variable;
  TableRow row;
};

/// Characters before the name: bars, branches and blanks, in ASCII or UTF-8.
std::size_t tree_length(const std::string& line, int& width) {
  std::size_t at = 0;
  width = 0;
  while (at < line.size()) {
    const std::string_view rest = std::string_view(line).substr(at);
    const bool box = rest.starts_with("\xE2\x94");  // U+2500 to U+257F in UTF-8
    if (!box && std::string_view(" |+-`\\").find(rest.front()) == std::string_view::npos) break;
    at += box ? 3 : 1;
    ++width;
  }
  return std::min(at, line.size());
}

TreeRow tree_row(const std::string& line, int line_number, const std::vector<Column>& columns,
                 const std::string& file) {
  // Conv2d (conv1): 2-1, Conv2d: 2-1, Conv2d (conv1)
  static const std::regex head(R"(^([A-Za-z_][\w.]*)(?:\s+\(([^)]*)\))?(?::\s*(\d+)-(\d+))?)");
  static const std::regex field(
      R"(\[[^\]]*\]|\(recursive\)|--|\d[\d,]*(?:\.\d+)?%?|True|False|Partial)");
  TreeRow result;
  result.row.line = line_number;
  int width = 0;
  const std::string text = line.substr(tree_length(line, width));
  std::smatch match;
  if (!std::regex_search(text, match, head)) {
    fail(file, line_number,
         fmt::format("'{}' is no row of a layer; expected its type first, such as Conv2d: 1-1",
                     trimmed(line)));
  }
  constexpr int indent = 5;  // of each level behind the first
  result.row.kind = match[1];
  result.variable = match[2];
  result.depth = match[3].matched ? static_cast<int>(number(match[3].str(), file, line_number))
                                  : (width + indent - 2) / indent;
  result.row.name = match[3].matched
                        ? fmt::format("{}_{}_{}", match[1].str(), match[3].str(), match[4].str())
                        : fmt::format("{}_line{}", match[1].str(), line_number);
  const std::string rest = match.suffix();
  std::vector<std::string> fields;
  for (std::sregex_iterator it(rest.begin(), rest.end(), field), end; it != end; ++it) {
    fields.push_back(it->str());
  }
  if (fields.size() != columns.size()) {
    fail(file, line_number,
         fmt::format("the row of '{}' has {} values behind its name; expected {}, one a column of "
                     "the header",
                     match[1].str(), fields.size(), columns.size()));
  }
  // A container's own values are looked at only when it turns out to be a layer.
  for (std::size_t i = 0; i < columns.size(); ++i) {
    set_field(result.row, columns[i], fields[i], file);
  }
  return result;
}

/// Rows without children, named by the path of variables where the table has it.
std::vector<TableRow> leaves(const std::vector<TreeRow>& tree, const std::string& file) {
  std::vector<TableRow> rows;
  std::map<int, std::string> path;  // depth -> variable
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path[tree[i].depth] = tree[i].variable;
    const bool container = i + 1 < tree.size() && tree[i + 1].depth > tree[i].depth;
    if (container) {
      if (tree[i].row.parameters.value_or(0) > 0) {
        fail(file, tree[i].row.line,
             fmt::format("the container '{}' has tensors of its own; expected them in a layer: "
                         "write the model with a layer of 'kind: raw'",
                         tree[i].row.kind));
      }
      continue;
    }
    TableRow row = tree[i].row;
    std::string name;
    for (int depth = 1; depth <= tree[i].depth; ++depth) {
      if (path[depth].empty()) name.clear();
      if (path[depth].empty()) break;
      name += (name.empty() ? "" : ".") + path[depth];
    }
    if (!name.empty()) row.name = name;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<TableRow> read_torchinfo(const std::vector<std::string>& lines, std::size_t header,
                                     const std::string& file) {
  const auto columns = torchinfo_columns(lines[header]);
  check_columns(columns, file, static_cast<int>(header) + 1);
  std::vector<TreeRow> tree;
  for (std::size_t i = header + 1; i < lines.size(); ++i) {
    const std::string text = trimmed(lines[i]);
    if (text.starts_with("Total ")) break;  // the summary below the table
    if (text.find_first_not_of("=-") == std::string::npos) continue;
    check_length(lines[i], file, static_cast<int>(i) + 1);
    tree.push_back(tree_row(lines[i], static_cast<int>(i) + 1, columns, file));
  }
  return leaves(tree, file);
}

}  // namespace gradwire::table
