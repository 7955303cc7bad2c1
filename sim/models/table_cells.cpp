#include "sim/models/table_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/core/error.hpp"

namespace gradwire::table {
namespace {

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

}  // namespace

void fail(const std::string& file, int line, const std::string& message) {
  throw ConfigError({file, line, 1}, message);
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

}  // namespace gradwire::table
