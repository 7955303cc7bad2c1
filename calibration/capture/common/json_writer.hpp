#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire::calibration {

/// Writes JSON front to back, without a library: what runs on a GPU node needs the C++ library
/// only.
///
///   JsonWriter json;
///   json.begin_object().member("schema", "x/1").key("rows").begin_list();
///   json.end_list().end_object();
///   json.text();
///
/// Objects in a list stand on lines of their own. REQUIRES: calls that make one JSON value.
class JsonWriter {
 public:
  JsonWriter& begin_object() {
    separate(true);
    text_ += '{';
    open_.push_back({true, false});
    return *this;
  }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() {
    separate(false);
    text_ += '[';
    open_.push_back({false, false});
    return *this;
  }
  JsonWriter& end_list() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate(false);
    quote(name);
    text_ += ": ";
    after_key_ = true;
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    separate(false);
    quote(text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw(yes ? "true" : "false"); }
  /// The shortest digits that read back as the same number; null where there is none (NaN).
  template <std::floating_point Number>
  JsonWriter& value(Number number) {
    if (!std::isfinite(number)) return raw("null");
    return raw(digits(number));
  }
  template <std::integral Number>
  JsonWriter& value(Number number) {
    return raw(digits(number));
  }

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& content) {
    return key(name).value(content);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Level {
    bool object = false;
    bool filled = false;
  };

  JsonWriter& raw(std::string_view text) {
    separate(false);
    text_ += text;
    return *this;
  }
  template <class Number>
  [[nodiscard]] static std::string digits(Number number) {
    std::array<char, 32> buffer{};  // enough for any double and 64-bit integer
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return {buffer.data(), result.ptr};
  }
  void separate(bool own_line) {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (open_.empty()) return;
    if (open_.back().filled) text_ += ", ";
    if (own_line && !open_.back().object) text_ += '\n';
    open_.back().filled = true;
  }
  JsonWriter& close(char end) {
    text_ += end;
    open_.pop_back();
    if (open_.empty()) text_ += '\n';
    return *this;
  }
  void quote(std::string_view text) {
    text_ += '"';
    for (const char character : text) {
      if (character == '"' || character == '\\') {
        text_ += '\\';
        text_ += character;
      } else if (static_cast<unsigned char>(character) < 0x20) {
        std::array<char, 8> escaped{};
        std::snprintf(escaped.data(), escaped.size(), "\\u%04x",
                      static_cast<unsigned>(static_cast<unsigned char>(character)));
        text_ += escaped.data();
      } else {
        text_ += character;
      }
    }
    text_ += '"';
  }

  std::string text_;
  std::vector<Level> open_;
  bool after_key_ = false;
};

}  // namespace gradwire::calibration
