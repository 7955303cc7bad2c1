#pragma once

#include <simdjson.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// What an event of Kineto's is about; the rest is skipped.
enum class KinetoCategory : std::uint8_t { skipped, host, call, kernel, copy, memset };

/// What is kept of one event of a Kineto trace. Views are into the text.
struct KinetoEvent {
  bool complete = false;  ///< phase "X"
  KinetoCategory category = KinetoCategory::skipped;
  std::string_view domain;
  std::string_view name;
  std::string_view thread;  ///< as written
  std::optional<Nanoseconds> start;
  std::optional<Nanoseconds> duration;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t external = 0;
  std::int64_t sequence = no_sequence;
  std::int64_t bytes = 0;
  std::uint32_t blocks = 0;
  std::string_view shapes;
  std::string_view operation;  ///< of a collective
  std::string_view dtype;
  std::int64_t elements = 0;
  int group = 0;
};

/// Reads the members of one event. @throws simdjson::simdjson_error at damaged JSON.
[[nodiscard]] KinetoEvent read_kineto_event(simdjson::ondemand::object object);

[[nodiscard]] bool is_composite(simdjson::ondemand::value& value);

/// A scalar as written, without quotes.
[[nodiscard]] std::string_view json_token(simdjson::ondemand::value& value);

/// Takes the number over; leaves `number` as it is where there is none, or it does not fit.
template <class Number>
void take_json_number(simdjson::ondemand::value& value, Number& number) {
  const std::string_view text = json_token(value);
  Number read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error == std::errc{} && end == text.data() + text.size()) number = read;
}

}  // namespace gradwire::calibration
