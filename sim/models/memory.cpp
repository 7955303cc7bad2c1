#include "sim/models/memory.hpp"

#include <algorithm>
#include <array>

#include "sim/models/efficiencies.hpp"

namespace gradwire {
namespace {

/// Kinds of layers that backward can do without, or that work in place.
constexpr std::array<std::string_view, 5> keeps_nothing = {"act", "add", "embed", "other", "pool"};

}  // namespace

double training_memory(const ModelDescription& model, int batch, std::string_view dtype) {
  constexpr double state = 3 * 4;  // bytes a parameter
  double kept = 0;
  for (const ModelLayer& layer : model.layers) {
    if (std::ranges::find(keeps_nothing, layer.kind) != keeps_nothing.end()) continue;
    kept += layer.forward.elements / 2;
  }
  return state * static_cast<double>(model.parameter_count()) +
         activation_bytes(dtype) * batch * kept;
}

}  // namespace gradwire
