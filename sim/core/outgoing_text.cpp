#include "sim/core/outgoing_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "sim/core/utf8.hpp"

namespace gradwire {
namespace {

/// Characters that a terminal obeys, or that turn the text around them (Unicode TR 36, 2.8).
bool controls(std::uint32_t code) {
  return is_control(code) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string spelt(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

std::string shown(std::string_view text, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool bad = character.bytes == 0;
    const std::size_t bytes = bad ? 1 : character.bytes;
    if (bad || (controls(character.code) && kept.find(text[0]) == std::string_view::npos)) {
      result += spelt(character.code);
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Each character of `text` that `escape` names something for, replaced.
template <class Escape>
std::string replaced(std::string_view text, const Escape& escape) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const std::string_view other = escape(c);
    if (other.empty()) {
      result += c;
    } else {
      result += other;
    }
  }
  return result;
}

std::string_view xml_entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

/// Without line ends: in Markdown a blank stands for one.
std::string in_one_row(std::string_view text) {
  std::string row(text);
  std::ranges::replace(row, '\n', ' ');
  return plain_line(row);
}

}  // namespace

std::string plain_line(std::string_view text) {
  return shown(text, "");
}

std::string plain_text(std::string_view text) {
  return shown(text, "\n\t");
}

std::string csv_cell(std::string_view text) {
  constexpr std::string_view formula = "=+-@\t\r";
  std::string cell;
  if (!text.empty() && formula.find(text[0]) != std::string_view::npos && !is_number(text)) {
    cell += '\'';
  }
  cell += shown(text, "\r\n\t");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  return '"' + replaced(cell, [](char c) -> std::string_view { return c == '"' ? "\"\"" : ""; }) +
         '"';
}

std::string xml_text(std::string_view text) {
  return replaced(plain_text(text), xml_entity);
}

std::string dot_string(std::string_view text) {
  // Graphviz resolves entities of HTML in labels.
  return '"' +
         replaced(plain_text(text),
                  [](char c) -> std::string_view {
                    switch (c) {
                      case '"':
                        return "\\\"";
                      case '\\':
                        return "\\\\";
                      case '\n':
                        return "\\n";
                      case '&':
                        return "&amp;";
                      default:
                        return "";
                    }
                  }) +
         '"';
}

std::string markdown_prose(std::string_view text) {
  return replaced(in_one_row(text), [](char c) -> std::string_view {
    return c == '|' ? "\\|" : c == '<' ? "&lt;" : "";
  });
}

std::string markdown_name(std::string_view text) {
  return replaced(in_one_row(text), [](char c) -> std::string_view {
    switch (c) {
      case '|':
        return "\\|";
      case '<':
        return "&lt;";
      case '&':
        return "&amp;";
      case '\\':
        return "\\\\";
      case '[':
        return "\\[";
      case ']':
        return "\\]";
      case '*':
        return "\\*";
      case '`':
        return "\\`";
      default:
        return "";
    }
  });
}

std::string markdown_block(std::string_view lines) {
  const std::string plain = plain_text(lines);
  std::string fence = "```";
  while (plain.find(fence) != std::string::npos) fence += '`';
  return fence + '\n' + plain + fence + '\n';
}

std::string url_path(std::string_view name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string path;
  for (const char c : name) {
    if (letters.find(c) != std::string_view::npos) {
      path += c;
    } else {
      path += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return path;
}

std::string markdown_code(std::string_view text) {
  return '`' +
         replaced(in_one_row(text),
                  [](char c) -> std::string_view {
                    return c == '|' ? "\\|" : c == '`' ? "'" : "";
                  }) +
         '`';
}

}  // namespace gradwire
