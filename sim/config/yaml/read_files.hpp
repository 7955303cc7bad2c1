#pragma once

#include <map>
#include <string>

namespace gradwire::config {

/// While one lives, it notes what load_yaml() reads: what a scenario is made of besides itself.
/// One at a time.
class ReadFiles {
 public:
  ReadFiles();
  ~ReadFiles();
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;

  /// The files' names, and the SHA-256 of what stood in each.
  [[nodiscard]] const std::map<std::string, std::string>& digests() const { return digests_; }

  /// Notes a file that was read, if there is somebody to whom it matters.
  static void note(const std::string& file, const std::string& text);

 private:
  std::map<std::string, std::string> digests_;
};

}  // namespace gradwire::config
