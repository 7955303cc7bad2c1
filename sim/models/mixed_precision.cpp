#include "sim/models/mixed_precision.hpp"

#include "sim/models/efficiencies.hpp"

namespace gradwire {

Seconds cast_time(std::int64_t parameters, const GpuSpec& gpu, const std::string& dtype) {
  if (dtype != "fp16" && dtype != "bf16") return Seconds{0};
  return Seconds{cast_bytes_per_parameter * static_cast<double>(parameters) /
                 (gpu.memory_bandwidth.count() * gpu.memory_efficiency)};
}

std::int64_t cast_weights(const ModelLayer& layer) {
  if (!layer.convolution && !is_matrix(work_class(layer))) return 0;
  std::int64_t elements = 0;
  for (const ParameterSpec& tensor : layer.parameters) elements += tensor.elements();
  const bool tied = elements == 0 && layer.product && layer.product->weight_operand;
  return tied ? layer.product->columns * layer.product->depth : elements;
}

}  // namespace gradwire
