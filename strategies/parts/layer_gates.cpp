#include "strategies/parts/layer_gates.hpp"

#include <algorithm>
#include <utility>

namespace gradwire {

LayerGates::LayerGates(const JobView& job)
    : tensors_of_(job.layers.size()), flag_of_(job.tensors.size(), -1) {
  double all = 0;
  for (const TensorInfo& tensor : job.tensors) all += static_cast<double>(tensor.elements);
  for (std::size_t id = 0; id < job.tensors.size(); ++id) {
    const auto layer = static_cast<std::size_t>(job.tensors[id].layer);
    if (layer >= tensors_of_.size()) tensors_of_.resize(layer + 1);
    tensors_of_[layer].push_back(static_cast<TensorId>(id));
    share_of_.push_back(static_cast<double>(job.tensors[id].elements) / all);
  }
}

void LayerGates::wait_for(TensorId tensor, OperationId flag) {
  flag_of_[static_cast<std::size_t>(tensor)] = flag;
}

void LayerGates::post(int layer, Poster& poster) {
  if (static_cast<std::size_t>(layer) >= tensors_of_.size()) return;
  Gate gate;
  double share = 0;
  for (const TensorId id : tensors_of_[static_cast<std::size_t>(layer)]) {
    const OperationId flag = std::exchange(flag_of_[static_cast<std::size_t>(id)], -1);
    if (flag < 0) continue;
    if (std::ranges::find(gate.until, flag) == gate.until.end()) gate.until.push_back(flag);
    share += share_of_[static_cast<std::size_t>(id)];
  }
  if (gate.until.empty()) return;
  poster.post(std::move(gate));
  poster.post(OptimizerStep{.share = share, .label = "update"});
}

}  // namespace gradwire
