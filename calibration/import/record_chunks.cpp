#include "calibration/import/record_chunks.hpp"

#include <fmt/format.h>

#include <fstream>
#include <ios>
#include <vector>

#include "calibration/capture/inject/crc32.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::calibration {
namespace {

/// Reads a file piece by piece, and knows where.
class File {
 public:
  explicit File(const std::string& name) : name_(name) {
    require_file(name, "a recording (.gwr)");
    stream_.open(name, std::ios::binary);
    if (!stream_) throw ConfigError({name, 0, 0}, "cannot be read; expected a recording (.gwr)");
  }

  /// @return whether all of `bytes` was there
  bool read(std::span<std::byte> bytes) {
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const auto got = static_cast<std::size_t>(stream_.gcount());
    offset_ += got;
    at_end_ = got < bytes.size();
    started_ = got > 0;
    return !at_end_;
  }
  template <class Header>
  bool read_header(Header& header) {
    return read(std::as_writable_bytes(std::span(&header, 1)));
  }
  /// Whether the last piece that was asked for was there in part.
  [[nodiscard]] bool ended_within() const { return at_end_ && started_; }

  [[noreturn]] void refuse(const std::string& message) const {
    throw ConfigError({name_, 1, 1}, message);
  }
  [[noreturn]] void damaged(std::string_view what, std::size_t back) const {
    refuse(fmt::format("{} at byte {} is damaged; expected a recording as it was written", what,
                       offset_ - back));
  }

 private:
  std::string name_;
  std::ifstream stream_;
  std::size_t offset_ = 0;
  bool at_end_ = false;
  bool started_ = false;
};

void read_file_header(File& file) {
  gwr::FileHeader header;
  if (!file.read_header(header) || header.magic != gwr::file_magic) {
    file.refuse("is not a recording of gradwire's; expected a .gwr file");
  }
  if (header.version != gwr::format_version) {
    file.refuse(fmt::format("is a recording of format {}; expected {}", header.version,
                            gwr::format_version));
  }
  if (header.bytes != sizeof(header)) file.damaged("the header", sizeof(header));
}

void check_chunk(const File& file, const gwr::ChunkHeader& header, std::uint32_t sequence) {
  const auto fields = std::as_bytes(std::span(&header, 1)).first(sizeof(header) - 4);
  if (header.magic != gwr::chunk_magic || header.header_crc != crc32(fields) ||
      header.bytes > gwr::chunk_bytes_max || header.bytes % 8 != 0) {
    file.damaged("the chunk", sizeof(header));
  }
  if (header.sequence != sequence) {
    file.refuse(fmt::format("lacks its chunk {}: the next one is {}; expected a whole recording",
                            sequence, header.sequence));
  }
}

/// Bytes of a record before its text.
std::size_t fixed_bytes(const gwr::RecordHeader& header) {
  const std::size_t padded = (std::size_t{header.text_bytes} + 7) / 8 * 8;
  return header.bytes > padded ? header.bytes - padded : 0;
}

void read_records(const File& file, std::uint32_t thread, std::span<const std::byte> bytes,
                  const std::function<void(const ChunkRecord&)>& on_record) {
  while (!bytes.empty()) {
    gwr::RecordHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));  // lengths are multiples of 8
    const std::size_t fixed = fixed_bytes(header);
    if (header.bytes > bytes.size() || header.bytes % 8 != 0 || fixed < sizeof(header)) {
      file.damaged("a record of the chunk that ends", 0);
    }
    ChunkRecord record{header.kind, thread, {}, bytes.first(fixed)};
    record.text = {reinterpret_cast<const char*>(bytes.data() + fixed), header.text_bytes};
    on_record(record);
    bytes = bytes.subspan(header.bytes);
  }
}

}  // namespace

bool read_chunks(const std::string& name,
                 const std::function<void(const ChunkRecord&)>& on_record) {
  File file(name);
  read_file_header(file);
  std::vector<std::byte> payload;
  for (std::uint32_t sequence = 0;; ++sequence) {
    gwr::ChunkHeader header;
    if (!file.read_header(header)) return file.ended_within();
    check_chunk(file, header, sequence);
    payload.resize(header.bytes);
    if (!file.read(payload)) return true;
    if (crc32(payload) != header.payload_crc) {
      file.damaged("the chunk that ends", 0);
    }
    read_records(file, header.thread, payload, on_record);
  }
}

}  // namespace gradwire::calibration
