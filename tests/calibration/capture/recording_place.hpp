#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "calibration/capture/inject/recorder.hpp"
#include "calibration/import/recording.hpp"

namespace gradwire::calibration {

/// A folder of one test for its recordings, gone at its end.
class RecordingPlace {
 public:
  explicit RecordingPlace(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("gradwire_capture_" + name + "." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~RecordingPlace() { std::filesystem::remove_all(path_); }
  RecordingPlace(const RecordingPlace&) = delete;
  RecordingPlace& operator=(const RecordingPlace&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] Settings settings(RecordMode mode = RecordMode::full) const {
    Settings settings;
    settings.folder = path();
    settings.mode = mode;
    return settings;
  }

 private:
  std::filesystem::path path_;
};

/// The trace's ranges of this name.
inline std::vector<RangeRecord> ranges_named(const Trace& trace, const std::string& name) {
  std::vector<RangeRecord> found;
  for (const RangeRecord& range : trace.ranges) {
    if (trace.names[range.name] == name) found.push_back(range);
  }
  return found;
}

/// The names of the trace's marks, in order.
inline std::vector<std::string> mark_names(const Trace& trace) {
  std::vector<std::string> names;
  for (const MarkRecord& mark : trace.marks) names.push_back(trace.names[mark.name]);
  return names;
}

}  // namespace gradwire::calibration
