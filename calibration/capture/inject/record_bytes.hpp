#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {

/// Bytes that a record and its text take.
template <class Record>
[[nodiscard]] std::uint32_t record_bytes(std::string_view text) {
  const auto length = std::min<std::size_t>(text.size(), gwr::text_bytes_max);
  return static_cast<std::uint32_t>((sizeof(Record) + length + 7) / 8 * 8);
}

/// Writes `record` and `text` to `place`, which has record_bytes() bytes.
template <class Record>
void write_record(std::byte* place, gwr::RecordKind kind, Record record, std::string_view text) {
  const std::uint32_t bytes = record_bytes<Record>(text);
  text = text.substr(0, gwr::text_bytes_max);
  record.header = {kind, static_cast<std::uint16_t>(bytes),
                   static_cast<std::uint32_t>(text.size())};
  if (bytes > sizeof(Record)) std::memset(place + bytes - 8, 0, 8);
  std::memcpy(place, &record, sizeof(Record));
  if (!text.empty()) std::memcpy(place + sizeof(Record), text.data(), text.size());
}

template <class Record>
void append_record(std::vector<std::byte>& bytes, gwr::RecordKind kind, const Record& record,
                   std::string_view text = {}) {
  const std::size_t end = bytes.size();
  bytes.resize(end + record_bytes<Record>(text));
  write_record(bytes.data() + end, kind, record, text);
}

}  // namespace gradwire::calibration
