#include "sim/models/model.hpp"

#include <algorithm>

namespace gradwire {

std::vector<ParameterSpec> with_sparse_rows(const ModelLayer& layer, int batch) {
  std::vector<ParameterSpec> parameters = layer.parameters;
  const std::int64_t rows = batch * layer.looked_up.of_sample + layer.looked_up.of_batch;
  for (ParameterSpec& table : parameters) {
    if (!table.shared && !table.shape.empty()) {
      table.sparse_rows = std::min(table.shape.front(), rows);
    }
  }
  return parameters;
}

std::int64_t ModelDescription::parameter_count() const {
  std::int64_t count = 0;
  for (const ModelLayer& layer : layers) count += elements_of(layer.parameters);
  return count;
}

}  // namespace gradwire
