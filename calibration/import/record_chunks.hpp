#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {

/// One record of a .gwr file.
struct ChunkRecord {
  gwr::RecordKind kind = gwr::RecordKind::padding;
  std::uint32_t thread = 0;  ///< of its chunk
  std::string_view text;
  std::span<const std::byte> bytes;  ///< without the text

  /// The record's fields; those that an older recorder did not write are zero.
  template <class Record>
  [[nodiscard]] Record as() const {
    static_assert(gwr::is_record<Record>);
    Record record{};
    std::memcpy(&record, bytes.data(), std::min(sizeof(record), bytes.size()));
    return record;
  }
};

/// Hands each record of the file to `on_record`, in the file's order.
/// @return whether the file ends within a chunk: its program was killed, or still runs
/// @throws ConfigError  it cannot be read, is not a file of the recorder's, or is damaged
bool read_chunks(const std::string& file, const std::function<void(const ChunkRecord&)>& on_record);

}  // namespace gradwire::calibration
