#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// Text that leaves the program. Names come from files that others wrote, so that each target has
/// its own way of showing what it would take for a command; JSON's is its library's.
namespace gradwire {

/// For a line of a terminal or a log: escape sequences, line ends and what else controls a terminal
/// (C0, C1, Unicode's overrides of direction) are spelt out ("\x1b"), as is what is not UTF-8.
/// Text that went through it passes unchanged.
[[nodiscard]] std::string plain_line(std::string_view text);

/// The same for text of many lines: line ends and tabs stay.
[[nodiscard]] std::string plain_text(std::string_view text);

/// A cell of a CSV file (RFC 4180), quoted where it must be. A text that a spreadsheet would take
/// for a formula (it begins with = + - @ or a tab, and is no number) gets an apostrophe before it.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// The text of an XML element, or of an attribute in quotes.
[[nodiscard]] std::string xml_text(std::string_view text);

/// A string of Graphviz's DOT with its quotes, in which nothing is an escape: '\n' parts lines.
[[nodiscard]] std::string dot_string(std::string_view text);

/// Prose in a Markdown table's cell or a list: the author's own Markdown stays, but no bar ends the
/// cell, no line end the row, and HTML is shown, not obeyed.
[[nodiscard]] std::string markdown_prose(std::string_view text);

/// A name in Markdown: the same, and nothing in it is a link, an image, emphasis or code.
[[nodiscard]] std::string markdown_name(std::string_view text);

/// A name in Markdown as code, with its backticks.
[[nodiscard]] std::string markdown_code(std::string_view text);

/// Lines in Markdown as they are, in a fence that none of them ends.
[[nodiscard]] std::string markdown_block(std::string_view lines);

/// A file's name as a relative link's address (RFC 3986): all but letters, digits and -._~ in %XX.
[[nodiscard]] std::string url_path(std::string_view name);

namespace detail {
template <class T>
decltype(auto) plain_argument(T&& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return plain_line(std::string_view(value));
  } else {
    return std::forward<T>(value);
  }
}

template <class... Args>
std::string plain_vformat(fmt::string_view format, Args&&... args) {
  return fmt::vformat(format, fmt::make_format_args(args...));
}
}  // namespace detail

/// fmt::format, with every text among the arguments as plain_line gives it.
template <class... Args>
[[nodiscard]] std::string plain_format(fmt::format_string<Args...> format, Args&&... args) {
  return detail::plain_vformat(format, detail::plain_argument(std::forward<Args>(args))...);
}

/// fmt::format_to, in the same way.
template <class Out, class... Args>
Out plain_format_to(Out out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text =
      detail::plain_vformat(format, detail::plain_argument(std::forward<Args>(args))...);
  for (const char c : text) *out++ = c;
  return out;
}

}  // namespace gradwire
