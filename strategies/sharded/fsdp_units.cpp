#include "strategies/sharded/fsdp_units.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/core/block_names.hpp"

namespace gradwire {
namespace {

void add(FsdpUnit& unit, TensorId id, const TensorInfo& tensor) {
  if (unit.tensors.empty()) unit.first_layer = unit.last_layer = tensor.layer;
  unit.tensors.push_back(id);
  unit.elements += tensor.elements;
  unit.first_layer = std::min(unit.first_layer, tensor.layer);
  unit.last_layer = std::max(unit.last_layer, tensor.layer);
}

/// Tensors by the layer they are in, forward order.
std::map<int, std::vector<TensorId>> by_layer(const JobView& job) {
  std::map<int, std::vector<TensorId>> layers;
  for (TensorId id = 0; id < static_cast<TensorId>(job.tensors.size()); ++id) {
    layers[job.tensor(id).layer].push_back(id);
  }
  return layers;
}

std::vector<FsdpUnit> by_size(const JobView& job, Bytes least, FsdpUnit& root) {
  std::vector<FsdpUnit> units;
  FsdpUnit open;
  for (const auto& [layer, tensors] : by_layer(job)) {
    for (const TensorId id : tensors) add(open, id, job.tensor(id));
    if (Bytes{open.elements * gradient_element_size} >= least) {
      units.push_back(std::exchange(open, {}));
    }
  }
  root = std::move(open);
  return units;
}

/// How many layers with tensors are under each number; one may have tensors under several.
std::map<std::string_view, int> layers_by_block(const JobView& job, BlockNumbers numbers) {
  std::map<std::string_view, int> counted;
  for (const auto& [layer, tensors] : by_layer(job)) {
    std::set<std::string_view> blocks;
    for (const TensorId id : tensors) blocks.insert(block_of(job.tensor(id).name, numbers));
    for (const std::string_view block : blocks) ++counted[block];
  }
  return counted;
}

std::vector<FsdpUnit> by_block(const JobView& job, FsdpUnit& root) {
  // Some number their blocks "layer.3", some "layer3".
  const bool has_numbers = std::ranges::any_of(job.tensors, [](const TensorInfo& tensor) {
    return !block_of(tensor.name, BlockNumbers::own_part).empty();
  });
  const BlockNumbers numbers = has_numbers ? BlockNumbers::own_part : BlockNumbers::part_ends;
  const auto counted = layers_by_block(job, numbers);
  const bool has_blocks =
      std::ranges::any_of(counted, [](const auto& it) { return it.second > 1; });
  std::vector<FsdpUnit> units;
  std::map<std::string_view, std::size_t> unit_of;
  for (const auto& [layer, tensors] : by_layer(job)) {
    for (const TensorId id : tensors) {
      const std::string_view block = block_of(job.tensor(id).name, numbers);
      if (block.empty() || (has_blocks && counted.at(block) == 1)) {
        add(root, id, job.tensor(id));
        continue;
      }
      const auto [entry, is_new] = unit_of.try_emplace(block, units.size());
      if (is_new) units.emplace_back();
      add(units[entry->second], id, job.tensor(id));
    }
  }
  return units;
}

}  // namespace

std::vector<FsdpUnit> make_fsdp_units(const JobView& job, WrapPolicy policy, Bytes least) {
  FsdpUnit root;
  std::vector<FsdpUnit> units;
  if (policy == WrapPolicy::block) {
    units = by_block(job, root);
  } else if (policy == WrapPolicy::size_based) {
    units = by_size(job, least, root);
  } else {
    for (TensorId id = 0; id < static_cast<TensorId>(job.tensors.size()); ++id) {
      add(root, id, job.tensor(id));
    }
  }
  if (!root.tensors.empty()) {
    root.root = true;
    units.insert(units.begin(), std::move(root));
  }
  return units;
}

}  // namespace gradwire
