#include "calibration/capture/inject/record_file.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "calibration/capture/inject/crc32.hpp"
#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {
namespace {

bool write_all(int descriptor, std::array<iovec, 2> pieces) {
  std::size_t first = 0;
  while (first < pieces.size()) {
    const ssize_t written =
        writev(descriptor, &pieces[first], static_cast<int>(pieces.size() - first));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    auto left = static_cast<std::size_t>(written);
    while (first < pieces.size() && left >= pieces[first].iov_len) {
      left -= pieces[first].iov_len;
      ++first;
    }
    if (first == pieces.size()) break;
    pieces[first].iov_base = static_cast<char*>(pieces[first].iov_base) + left;
    pieces[first].iov_len -= left;
  }
  return true;
}

}  // namespace

RecordFile::~RecordFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void RecordFile::fail(const char* what) {
  failed_ = true;
  std::fprintf(stderr, "gradwire: cannot %s %s: %s; recording stops\n", what, path_.c_str(),
               std::strerror(errno));
}

bool RecordFile::open() {
  descriptor_ =
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    fail("create");
    return false;
  }
  gwr::FileHeader header;
  if (!write_all(descriptor_, {{{&header, sizeof(header)}, {nullptr, 0}}})) {
    fail("write");
    return false;
  }
  return true;
}

bool RecordFile::is_made() {
  const std::lock_guard lock(mutex_);
  return descriptor_ >= 0;
}

bool RecordFile::append(std::uint32_t thread, std::span<const std::byte> records) {
  const std::lock_guard lock(mutex_);
  if (failed_ || (descriptor_ < 0 && !open())) return false;
  return records.empty() || write_chunk(thread, records);
}

bool RecordFile::write_chunk(std::uint32_t thread, std::span<const std::byte> records) {
  gwr::ChunkHeader header;
  header.bytes = static_cast<std::uint32_t>(records.size());
  header.sequence = chunks_;
  header.thread = thread;
  header.payload_crc = crc32(records);
  header.header_crc = crc32(std::as_bytes(std::span(&header, 1)).first(sizeof(header) - 4));
  // writev takes memory that it does not change through pointers to changeable memory.
  void* payload = const_cast<std::byte*>(records.data());
  if (!write_all(descriptor_, {{{&header, sizeof(header)}, {payload, records.size()}}})) {
    fail("write");
    return false;
  }
  ++chunks_;
  return true;
}

}  // namespace gradwire::calibration
