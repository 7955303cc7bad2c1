#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire {

/// A word of a line; `column` counts from 1.
struct Word {
  std::string_view text;
  int column = 1;
};

/// A line of a text file, without its end; `number` counts from 1.
struct TextLine {
  std::string_view text;
  int number = 1;

  /// The place of a column, for errors.
  [[nodiscard]] SourceLocation at(const std::string& file, int column) const {
    return {file, number, column};
  }
};

/// Goes through the lines of a text, which they refer to; a carriage return at the end is left out.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}
  /// @return nothing behind the last line
  [[nodiscard]] std::optional<TextLine> next();

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  int number_ = 0;
};

/// The lines of `text` at once.
[[nodiscard]] std::vector<TextLine> lines_of(std::string_view text);

/// The words of a line, between blanks.
[[nodiscard]] std::vector<Word> words_of(std::string_view line);

/// The whole of `text` as a number; nothing when it is none.
[[nodiscard]] std::optional<long long> whole_number(std::string_view text);
[[nodiscard]] std::optional<double> number(std::string_view text);

/// The whole number that follows `label` in a line ("nranks " in "rank 0 nranks 32 cudaDev 0").
[[nodiscard]] std::optional<long long> number_after(std::string_view line, std::string_view label);

}  // namespace gradwire
