#include "sim/core/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/core/utf8.hpp"

namespace gradwire {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

bool is_allowed(std::uint32_t control, Controls allowed) {
  if (allowed == Controls::terminal) return control != 0;
  return allowed == Controls::white_space &&
         (control == '\t' || control == '\n' || control == '\r');
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
    const Utf8Character character = first_character(text.substr(at));
    if (character.bytes == 0) return at;
    if (is_control(character.code) && !is_allowed(character.code, allowed)) return at;
    at += character.bytes;
  }
  return std::string_view::npos;
}

std::string describe_bad_byte(std::string_view text, std::size_t at) {
  const Utf8Character character = first_character(text.substr(at));
  if (character.bytes == 0) {
    return fmt::format("the byte 0x{:02X}, which is no UTF-8", character.code);
  }
  return fmt::format("the control character U+{:04X}", character.code);
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
