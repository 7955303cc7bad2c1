#include "sim/models/model.hpp"

namespace gradwire {

std::int64_t ModelDescription::parameter_count() const {
  std::int64_t count = 0;
  for (const ModelLayer& layer : layers) count += elements_of(layer.parameters);
  return count;
}

}  // namespace gradwire
