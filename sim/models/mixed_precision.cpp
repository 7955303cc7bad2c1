#include "sim/models/mixed_precision.hpp"

namespace gradwire {

Seconds cast_time(std::int64_t parameters, const GpuSpec& gpu, const std::string& dtype) {
  if (dtype != "fp16" && dtype != "bf16") return Seconds{0};
  return Seconds{cast_bytes_per_parameter * static_cast<double>(parameters) /
                 (gpu.memory_bandwidth.count() * gpu.memory_efficiency)};
}

}  // namespace gradwire
