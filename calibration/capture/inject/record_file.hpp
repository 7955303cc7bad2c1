#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace gradwire::calibration {

/// A .gwr file that grows by whole chunks. It is made by its first chunk, for its owner's eyes only
/// (0600): where a file of its name is there, it takes the next free one, "NAME-2.gwr". Any thread
/// may append.
class RecordFile {
 public:
  /// @param bytes_max  a chunk that would make the file longer is refused, and all that follow
  RecordFile(std::string path, std::size_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Appends records of `thread` by one system call. On an error: one line on standard error, once,
  /// and nothing is written from then on. @return whether they were written
  bool append(std::uint32_t thread, std::span<const std::byte> records);

  /// Appends what ends the file, beyond its bound where it is full: a summary's few hundred bytes.
  bool append_last(std::span<const std::byte> records);

  /// Its name; another than the wanted one, once it is made, where that was taken.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether something was refused for the bound.
  [[nodiscard]] bool is_full();
  /// Whether there is a file: something was appended.
  [[nodiscard]] bool is_made();

 private:
  bool open();
  bool write_chunk(std::uint32_t thread, std::span<const std::byte> records);
  void fail(const char* what);
  void say_full();

  std::mutex mutex_;
  std::string path_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  bool full_ = false;
  int descriptor_ = -1;
  std::uint32_t chunks_ = 0;
  bool failed_ = false;
};

}  // namespace gradwire::calibration
