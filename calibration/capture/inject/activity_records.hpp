#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calibration/capture/inject/recorder.hpp"

namespace gradwire::calibration {

/// Turns CUPTI's records into ours.
class ActivityRecords {
 public:
  /// REQUIRES: the library that runs has_known_layout().
  /// @param call_names  names of calls, see call_key()
  ActivityRecords(Recorder& recorder, std::unordered_map<std::uint64_t, std::string> call_names)
      : recorder_(recorder), call_names_(std::move(call_names)) {}

  /// The key of a call of the CUDA runtime or driver among the names.
  static std::uint64_t call_key(bool runtime, std::uint32_t callback) {
    return (std::uint64_t{runtime ? 1U : 0U} << 32U) | callback;
  }

  /// Appends our record of `activity` to `records`; nothing for kinds that are not kept.
  /// @return false where the record carries no time, and was left out
  bool convert(const CUpti_Activity& activity, std::vector<std::byte>& records) const;

 private:
  bool add_kernel(const CUpti_Activity& activity, std::vector<std::byte>& records) const;
  void add_call(const CUpti_Activity& activity, std::vector<std::byte>& records) const;

  Recorder& recorder_;
  std::unordered_map<std::uint64_t, std::string> call_names_;
};

/// Whether calls of this name launch work, move data or wait: only those are recorded.
[[nodiscard]] bool is_recorded_call(std::string_view name);

}  // namespace gradwire::calibration
