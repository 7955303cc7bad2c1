#include "strategies/peers/name_order.hpp"

#include <algorithm>
#include <numeric>

namespace gradwire {

NameOrder::NameOrder(const std::vector<TensorInfo>& tensors) : order_(tensors.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](TensorId id) -> const std::string& {
    return tensors[static_cast<std::size_t>(id)].name;
  });
  reset();
}

void NameOrder::reset() {
  ready_.assign(order_.size(), false);
  next_ = 0;
}

std::vector<TensorId> NameOrder::ready(TensorId tensor) {
  ready_[static_cast<std::size_t>(tensor)] = true;
  std::vector<TensorId> go;
  while (next_ < order_.size() && ready_[static_cast<std::size_t>(order_[next_])]) {
    go.push_back(order_[next_++]);
  }
  return go;
}

}  // namespace gradwire
