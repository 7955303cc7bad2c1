#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/models/model_table.hpp"

namespace gradwire {
namespace {

[[noreturn]] void fail(const std::string& file, int line, const std::string& message) {
  throw ConfigError({file, line, 1}, message);
}

/// Refuses a row that the expressions below cannot take.
void check_length(const std::string& row, const std::string& file, int line) {
  constexpr std::size_t length_max = 1000;  // std::regex goes as deep as a line is long
  if (row.size() > length_max) {
    fail(file, line,
         fmt::format("the row has {} characters; expected at most {}", row.size(), length_max));
  }
  constexpr std::ptrdiff_t shapes_max = 20;  // from each open bracket they look for its end
  if (std::ranges::count(row, '[') > shapes_max) {
    fail(file, line, fmt::format("the row has more than {} shapes; expected three", shapes_max));
  }
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::int64_t number(const std::string& digits, const std::string& file, int line) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(file, line, fmt::format("'{}' is no number; expected a whole number below 2^63", digits));
  }
  return value;
}

/// Goes through the numbers of a shape: by hand, as std::regex takes the cube of a run of blanks.
class ShapeScanner {
 public:
  explicit ShapeScanner(std::string_view text) : text_(text) {}

  /// The digits of each number; nothing where the text is no shape.
  std::optional<std::vector<std::string>> numbers() {
    std::vector<std::string> found;
    take("[(");
    do {
      std::string digits = number();
      if (digits.empty()) break;  // behind a last comma
      found.push_back(std::move(digits));
    } while (take(",xX"));
    take("])");
    return found.empty() || !text_.empty() ? std::nullopt : std::optional(std::move(found));
  }

 private:
  /// @return whether one of these came, which is then left behind
  bool take(std::string_view letters) {
    skip_blanks();
    if (text_.empty() || letters.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    skip_blanks();
    return true;
  }
  std::string number() {
    skip_blanks();
    const std::size_t sign = text_.starts_with('-') ? 1 : 0;
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", sign), text_.size());
    if (end == sign) return "";
    std::string digits(text_.substr(0, end));
    text_.remove_prefix(end);
    skip_blanks();
    return digits;
  }
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n\v\f"), text_.size()));
  }

  std::string_view text_;
};

/// The whole numbers in "[1, 3, 224, 224]", "1x3x224x224" or "3"; empty for "--" and "".
std::vector<std::int64_t> shape(const std::string& text, const std::string& file, int line) {
  const std::string content = trimmed(text);
  if (content.empty() || content == "--" || content == "-" || content == "[]") return {};
  const auto numbers = ShapeScanner(content).numbers();
  if (!numbers) {
    fail(file, line,
         fmt::format("'{}' is no shape; expected numbers such as [1, 3, 224, 224]", content));
  }
  std::vector<std::int64_t> sizes;
  for (const std::string& digits : *numbers) sizes.push_back(number(digits, file, line));
  return sizes;
}

/// "9,408" is 9408; absent for "--".
std::optional<std::int64_t> count(const std::string& text, const std::string& file, int line) {
  std::string digits = trimmed(text);
  std::erase(digits, ',');
  if (digits.empty() || digits == "--" || digits == "-") return std::nullopt;
  if (digits == "(recursive)") {
    fail(file, line,
         "a module runs twice and shares its tensors; expected each module once in an imported "
         "table: write the model as layers with 'tied_to' or 'kind: raw'");
  }
  return number(digits, file, line);
}

enum class Column : std::uint8_t { name, kind, input, output, kernel, parameters, ignored };

/// Whether the columns hold all that a layer needs.
void check_columns(const std::vector<Column>& columns, const std::string& file, int line) {
  const std::array<std::pair<Column, const char*>, 3> needed = {
      {{Column::input, "input shape (torchinfo: input_size)"},
       {Column::output, "output shape (torchinfo: output_size)"},
       {Column::parameters, "parameters (torchinfo: num_params)"}}};
  for (const auto& [column, name] : needed) {
    if (std::ranges::find(columns, column) != columns.end()) continue;
    fail(file, line,
         fmt::format("the table has no column of the {}; expected input shape, output shape, "
                     "kernel shape and parameters",
                     name));
  }
}

void set_field(TableRow& row, Column column, const std::string& text, const std::string& file) {
  switch (column) {
    case Column::name:
      row.name = trimmed(text);
      break;
    case Column::kind:
      row.kind = trimmed(text);
      break;
    case Column::input:
      row.input = shape(text, file, row.line);
      break;
    case Column::output:
      row.output = shape(text, file, row.line);
      break;
    case Column::kernel:
      row.kernel = shape(text, file, row.line);
      break;
    case Column::parameters:
      row.parameters = count(text, file, row.line);
      break;
    case Column::ignored:
      break;
  }
}

// ---- torchinfo ---------------------------------------------------------------------------------

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

// ---- CSV ---------------------------------------------------------------------------------------

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
                       fmt::join(names, ", "), suggestion(trimmed(title), names)));
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

}  // namespace

std::vector<TableRow> read_model_table(const std::string& text, const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::vector<TableRow> rows;
  const auto torchinfo = std::ranges::find_if(
      lines, [](const std::string& line) { return line.find("Layer (type") != std::string::npos; });
  if (torchinfo != lines.end()) {
    rows = read_torchinfo(lines, static_cast<std::size_t>(torchinfo - lines.begin()), file);
  } else {
    const auto header =
        std::ranges::find_if(lines, [](const std::string& line) { return !trimmed(line).empty(); });
    if (header == lines.end()) {
      fail(file, 1, "the file is empty; expected a table of layers (torchinfo's text or CSV)");
    }
    rows = read_csv(lines, static_cast<std::size_t>(header - lines.begin()), file);
  }
  if (rows.empty()) {
    fail(file, static_cast<int>(lines.size()), "the table has no layer; expected at least one row");
  }
  return rows;
}

}  // namespace gradwire
