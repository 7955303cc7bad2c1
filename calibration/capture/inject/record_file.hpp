#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace gradwire::calibration {

/// A .gwr file that grows by whole chunks. It is made by its first chunk. Any thread may append.
class RecordFile {
 public:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Appends records of `thread` by one system call. On an error: one line on standard error, once,
  /// and nothing is written from then on. @return whether they were written
  bool append(std::uint32_t thread, std::span<const std::byte> records);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool open();
  bool write_chunk(std::uint32_t thread, std::span<const std::byte> records);
  void fail(const char* what);

  std::mutex mutex_;
  std::string path_;
  int descriptor_ = -1;
  std::uint32_t chunks_ = 0;
  bool failed_ = false;
};

}  // namespace gradwire::calibration
