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
  // Another node or container may have a process of our number, and a folder that all can write
  // may have a link or a file of somebody else's in our place: a new file, or none.
  constexpr int tries = 100;
  const std::string wanted = path_;
  for (int attempt = 2; attempt <= tries; ++attempt) {
    descriptor_ = ::open(path_.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor_ >= 0 || errno != EEXIST) break;
    path_ = wanted.substr(0, wanted.rfind('.')) + "-" + std::to_string(attempt) + ".gwr";
  }
  if (descriptor_ < 0) {
    fail("create");
    return false;
  }
  gwr::FileHeader header;
  if (!write_all(descriptor_, {{{&header, sizeof(header)}, {nullptr, 0}}})) {
    fail("write");
    return false;
  }
  bytes_ = sizeof(header);
  return true;
}

bool RecordFile::is_made() {
  const std::lock_guard lock(mutex_);
  return descriptor_ >= 0;
}

bool RecordFile::append(std::uint32_t thread, std::span<const std::byte> records) {
  const std::lock_guard lock(mutex_);
  if (failed_ || (descriptor_ < 0 && !open())) return false;
  if (records.empty()) return true;
  const std::size_t bytes = sizeof(gwr::ChunkHeader) + records.size();
  if (full_ || bytes_ + bytes > bytes_max_) {
    say_full();
    return false;
  }
  return write_chunk(thread, records);
}

bool RecordFile::append_last(std::span<const std::byte> records) {
  const std::lock_guard lock(mutex_);
  if (failed_ || (descriptor_ < 0 && !open())) return false;
  return write_chunk(0, records);
}

bool RecordFile::is_full() {
  const std::lock_guard lock(mutex_);
  return full_;
}

void RecordFile::say_full() {
  if (full_) return;
  full_ = true;
  std::fprintf(stderr,
               "gradwire: %s has its %zu bytes; recording stops (GRADWIRE_FILE_SIZE, or fewer "
               "iterations)\n",
               path_.c_str(), bytes_max_);
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
  bytes_ += sizeof(header) + records.size();
  return true;
}

}  // namespace gradwire::calibration
