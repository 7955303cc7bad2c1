#include "sim/models/model.hpp"

namespace gradwire {

std::int64_t ModelDescription::parameter_count() const {
  std::int64_t count = 0;
  for (const ModelLayer& layer : layers) {
    for (const ParameterSpec& parameter : layer.parameters) count += parameter.elements();
  }
  return count;
}

}  // namespace gradwire
