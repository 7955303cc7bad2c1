#include "sim/core/text_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gradwire {
namespace {

constexpr std::string_view blanks = " \t\v\f";

}  // namespace

std::optional<TextLine> LineReader::next() {
  if (begin_ >= text_.size()) return std::nullopt;
  const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
  std::string_view line = text_.substr(begin_, end - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = end + 1;
  return TextLine{line, ++number_};
}

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> lines;
  lines.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  LineReader reader(text);
  while (const auto line = reader.next()) lines.push_back(*line);
  return lines;
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t begin = line.find_first_not_of(blanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back({line.substr(begin, end - begin), static_cast<int>(begin) + 1});
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<long long> whole_number(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<long long> number_after(std::string_view line, std::string_view label) {
  const std::size_t found = line.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(found + label.size());
  long long value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace gradwire
