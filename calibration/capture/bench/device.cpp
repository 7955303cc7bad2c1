#include "calibration/capture/bench/device.hpp"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>

#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/preflight.hpp"

namespace gradwire::calibration {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  GRADWIRE_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// CUDA works: whatever the driver's library finds, even that it cannot be asked, spoils figures at
/// most.
void warn_of_node() {
  PreflightOptions options;
  options.own_injection = false;
  for (const Finding& finding : check_node(options).findings) {
    std::fprintf(stderr, "gradwire-bench: warning: %s\n", finding.text.c_str());
  }
}

}  // namespace

int require_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) {
    warn_of_node();
    return count;
  }
  const char* why = result == cudaSuccess ? "CUDA sees none" : cudaGetErrorString(result);
  throw NoDevice(std::string("no GPU that works: ") + why +
                 "; expected a node with an NVIDIA GPU and its driver (nvidia-smi lists them; in a "
                 "container: --gpus all)");
}

DeviceInfo device_info(int index) {
  constexpr double bits_a_byte = 8;
  cudaDeviceProp properties{};
  GRADWIRE_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  std::array<char, 32> bus{};
  GRADWIRE_CUDA_CHECK(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index));
  DeviceInfo info;
  info.index = index;
  info.name = properties.name;
  info.bus = bus.data();
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  const double clock = 1e3 * attribute(cudaDevAttrMemoryClockRate, index);  // from kHz
  info.memory_bandwidth =
      2 * clock * attribute(cudaDevAttrGlobalMemoryBusWidth, index) / bits_a_byte;
  return info;
}

std::string bus_key(const std::string& bus) {
  constexpr std::size_t digits = 12;  // 0000:18:00.0
  std::string key = bus.size() > digits ? bus.substr(bus.size() - digits) : bus;
  for (char& letter : key) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return key;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

std::string tool_name() {
  return std::string("gradwire-bench ") + GRADWIRE_CAPTURE_VERSION;
}

void begin_record(JsonWriter& json, std::string_view schema) {
  int device = 0;
  GRADWIRE_CUDA_CHECK(cudaGetDevice(&device));
  json.begin_object()
      .member("schema", schema)
      .member("tool", tool_name())
      .member("date", today())
      .member("node", host_name())
      .member("gpu", device_info(device).name);
}

}  // namespace gradwire::calibration
