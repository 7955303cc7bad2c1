#include "sim/core/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gradwire {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// Bytes of the character at `at`, 0 where they are no UTF-8 (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  struct Form {
    unsigned first;  ///< of the leading byte
    unsigned last;
    std::size_t length;
    unsigned low;  ///< of the second byte
    unsigned high;
  };
  static constexpr std::array<Form, 9> forms = {{{0x00, 0x7F, 1, 0, 0},
                                                 {0xC2, 0xDF, 2, 0x80, 0xBF},
                                                 {0xE0, 0xE0, 3, 0xA0, 0xBF},
                                                 {0xE1, 0xEC, 3, 0x80, 0xBF},
                                                 {0xED, 0xED, 3, 0x80, 0x9F},
                                                 {0xEE, 0xEF, 3, 0x80, 0xBF},
                                                 {0xF0, 0xF0, 4, 0x90, 0xBF},
                                                 {0xF1, 0xF3, 4, 0x80, 0xBF},
                                                 {0xF4, 0xF4, 4, 0x80, 0x8F}}};
  const unsigned lead = byte_at(text, at);
  for (const Form& form : forms) {
    if (lead < form.first || lead > form.last) continue;
    if (form.length == 1) return 1;
    if (byte_at(text, at + 1) < form.low || byte_at(text, at + 1) > form.high) return 0;
    for (std::size_t i = 2; i < form.length; ++i) {
      if ((byte_at(text, at + i) & 0xC0U) != 0x80U) return 0;
    }
    return form.length;
  }
  return 0;
}

/// Whether the character at `at`, which is UTF-8, is a control character.
bool is_control(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  return lead < 0x20 || lead == 0x7F || (lead == 0xC2 && byte_at(text, at + 1) < 0xA0);
}

bool is_allowed(unsigned lead, Controls allowed) {
  if (allowed == Controls::terminal) return lead != 0;
  return allowed == Controls::white_space && (lead == '\t' || lead == '\n' || lead == '\r');
}

/// The end of a piece of at most `most` bytes, where a character ends.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  while (end > 0 && end < text.size() && (byte_at(text, end) & 0xC0U) == 0x80U) --end;
  return end;
}

/// Beginning and end of a text, and how much lies between.
std::string ends_of(std::string_view text, std::size_t front, std::size_t back) {
  const std::size_t head = whole_characters(text, front);
  const std::size_t tail = whole_characters(text, text.size() - back);
  return fmt::format("{}...({} bytes)...{}", text.substr(0, head), text.size(), text.substr(tail));
}

bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

/// The next quote that no letter follows: an apostrophe is none.
std::size_t closing_quote(std::string_view text, std::size_t from) {
  std::size_t end = text.find('\'', from);
  while (end != std::string_view::npos && end + 1 < text.size() && is_word(text[end + 1])) {
    end = text.find('\'', end + 1);
  }
  return end;
}

}  // namespace

std::size_t first_bad_byte(std::string_view text, Controls allowed) {
  for (std::size_t at = 0; at < text.size();) {
    const unsigned lead = byte_at(text, at);
    if (lead >= 0x20 && lead < 0x7F) {  // nearly all of most files
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return at;
    if (is_control(text, at) && !is_allowed(lead, allowed)) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string describe_bad_byte(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  if (length == 0) return fmt::format("the byte 0x{:02X}, which is no UTF-8", byte_at(text, at));
  const unsigned code = length == 1 ? byte_at(text, at) : byte_at(text, at + 1);
  return fmt::format("the control character U+{:04X}", code);
}

std::string printable(std::string_view text, Controls allowed) {
  std::string result;
  while (!text.empty()) {
    const std::size_t good = std::min(first_bad_byte(text, allowed), text.size());
    result += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    result += fmt::format("\\x{:02X}", byte_at(text, 0));
    text.remove_prefix(1);
  }
  return result;
}

std::string shortened(std::string_view message) {
  constexpr std::size_t quoted_max = 200;
  constexpr std::size_t whole_max = 4000;
  constexpr std::size_t back = 40;
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = 0; message.size() > quoted_max && at < message.size(); ++at) {
    if (message[at] != '\'' || (at > 0 && is_word(message[at - 1]))) continue;
    const std::size_t end = closing_quote(message, at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view value = message.substr(at + 1, end - at - 1);
    if (value.size() > quoted_max) {
      result += message.substr(done, at + 1 - done);
      result += ends_of(value, quoted_max - back, back);
      done = end;
    }
    at = end;
  }
  result += message.substr(done);
  return result.size() <= whole_max ? result : ends_of(result, whole_max - quoted_max, quoted_max);
}

bool is_file_name(std::string_view name) {
  constexpr std::size_t length_max = 200;  // file systems take 255, endings included
  if (name.empty() || name.size() > length_max || name == "." || name == "..") return false;
  if (name.front() == ' ' || name.front() == '-') return false;
  return name.find_first_of("/\\") == std::string_view::npos &&
         first_bad_byte(name) == std::string_view::npos;
}

}  // namespace gradwire
