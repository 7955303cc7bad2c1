#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "calibration/capture/common/json_writer.hpp"

namespace gradwire::calibration {

/// There is no GPU or driver to run on (exit 4). The text says why and what to do, in one line.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How many GPUs the process sees; what may spoil a measurement on them (MIG, clocks held down) is
/// told on standard error. @throws NoDevice when there is none that works.
[[nodiscard]] int require_devices();

/// What the CUDA runtime says of a GPU.
struct DeviceInfo {
  int index = 0;  ///< after CUDA_VISIBLE_DEVICES
  std::string name;
  std::string bus;  ///< PCI address, "0000:18:00.0"
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  double memory_bandwidth = 0;  ///< nominal, bytes per second: 2 * memory clock * bus width
};
[[nodiscard]] DeviceInfo device_info(int index);

/// A PCI address as both NVML (domain of 8 digits) and CUDA (4) name it: "0000:18:00.0"
/// in small letters.
[[nodiscard]] std::string bus_key(const std::string& bus);

/// This machine's name.
[[nodiscard]] std::string host_name();
/// Today, as 2026-11-20, in UTC.
[[nodiscard]] std::string today();
/// "gradwire-bench 0.1.0"
[[nodiscard]] std::string tool_name();

/// Begins the object of a record: schema, tool, date, node, gpu (the name of the current one).
void begin_record(JsonWriter& json, std::string_view schema);

}  // namespace gradwire::calibration
