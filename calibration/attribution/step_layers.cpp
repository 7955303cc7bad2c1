#include "calibration/attribution/step_layers.hpp"

#include <algorithm>
#include <utility>

#include "calibration/attribution/layer_ops.hpp"

namespace gradwire::calibration {

StepLayers::StepLayers(const TraceIndex& index, std::vector<RangeId> ranges,
                       std::uint32_t forward_thread)
    : index_(index), thread_(forward_thread), step_ranges_(std::move(ranges)) {
  find_owners();
  find_calls();
  find_nodes();
}

bool StepLayers::is_operator(RangeId id) const {
  const RangeMeaning& meaning = index_.meaning(id);
  if (meaning.backward || meaning.module || meaning.wrapper) return false;
  return meaning.operation || index_.range(id).sequence != no_sequence;
}

bool StepLayers::inside_backward(RangeId id) const {
  for (; id != no_range; id = index_.parent(id)) {
    if (index_.meaning(id).backward) return true;
  }
  return false;
}

RangeId StepLayers::outermost_operator(RangeId id) const {
  RangeId outermost = id;
  for (RangeId up = index_.parent(id); up != no_range; up = index_.parent(up)) {
    if (is_operator(up)) outermost = up;
    if (index_.meaning(up).module) break;
  }
  return outermost;
}

RangeId StepLayers::module_around(RangeId id) const {
  while (id != no_range && !index_.meaning(id).module) id = index_.parent(id);
  return id;
}

bool StepLayers::in_model(RangeId top) const {
  if (model_) {
    // Between modules runs what no module does: additions of branches, functional activations, and
    // a loss that the model computes itself.
    const Nanoseconds start = index_.range(top).start;
    return start >= model_->start && start <= model_->end;
  }
  for (RangeId id = top; id != no_range; id = index_.parent(id)) {
    if (index_.meaning(id).loss) return false;
  }
  return true;
}

void StepLayers::find_owners() {
  for (const RangeId id : step_ranges_) {
    const RangeRecord& range = index_.range(id);
    if (range.thread != thread_) continue;
    const RangeMeaning& meaning = index_.meaning(id);
    if (meaning.module || meaning.model_call) {
      if (!model_) model_ = HostIteration{range.start, range.end};
      model_->end = std::max(model_->end, range.end);
    }
    if (meaning.module) {
      is_container_.try_emplace(range.name, false);
      const RangeId around = module_around(index_.parent(id));
      if (around != no_range) is_container_[index_.range(around).name] = true;
    }
    if (range.sequence == no_sequence || meaning.backward || inside_backward(id)) continue;
    owners_[range.sequence] = outermost_operator(id);
  }
}

void StepLayers::add_call(RangeId top) {
  const RangeId module = module_around(top);
  const bool leaf = module != no_range && !is_container_.at(index_.range(module).name);
  const RangeId own = leaf ? module : top;
  const auto [known, is_new] = layer_of_.try_emplace(own, static_cast<int>(calls_.size()));
  if (is_new) {
    Call call;
    call.range = own;
    call.is_module = module != no_range;
    const NameTable& names = index_.trace().names;
    if (module != no_range) call.name = module_name(names[index_.range(module).name]);
    if (!leaf) {
      if (!call.name.empty()) call.name += '.';
      call.name += name_of_operator(names[index_.range(top).name]);
    }
    calls_.push_back(std::move(call));
  }
  calls_[static_cast<std::size_t>(known->second)].operators.push_back(top);
  layer_of_.try_emplace(top, known->second);
}

void StepLayers::find_calls() {
  std::vector<RangeId> tops;
  for (const RangeId id : step_ranges_) {
    if (!index_.meaning(id).backward) continue;
    const auto owner = owners_.find(index_.range(id).sequence);
    if (owner != owners_.end()) tops.push_back(owner->second);
  }
  // Work of a leaf module without a gradient is its layer's as well.
  for (const RangeId id : step_ranges_) {
    if (index_.range(id).thread != thread_ || !is_operator(id) || inside_backward(id)) continue;
    const RangeId module = module_around(id);
    if (module == no_range || outermost_operator(id) != id) continue;
    if (!is_container_.at(index_.range(module).name)) tops.push_back(id);
  }
  std::ranges::sort(tops, [&](RangeId a, RangeId b) {
    return std::pair(index_.range(a).start, a) < std::pair(index_.range(b).start, b);
  });
  tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
  for (const RangeId top : tops) {
    const RangeMeaning& meaning = index_.meaning(top);
    if (meaning.optimizer || !in_model(top)) continue;
    add_call(top);
  }
  for (const Call& call : calls_) {
    signature_ += call.name;
    signature_ += '\n';
  }
}

int StepLayers::layer_of_sequence(std::int64_t sequence) const {
  const auto owner = owners_.find(sequence);
  if (owner == owners_.end()) return -1;
  const auto layer = layer_of_.find(owner->second);
  return layer == layer_of_.end() ? -1 : layer->second;
}

void StepLayers::find_nodes() {
  int last = -1;
  std::uint32_t thread = 0;
  for (const RangeId id : step_ranges_) {
    const RangeMeaning& meaning = index_.meaning(id);
    if (!meaning.backward) continue;
    const RangeRecord& node = index_.range(id);
    const RangeId around = index_.parent(id);
    if (inside_backward(around)) {
      // The profiler numbers the engine's range around a node, emit_nvtx the node's own within it.
      if (!nodes_.empty() && nodes_.back() == around && node.sequence != no_sequence &&
          index_.range(around).sequence == no_sequence) {
        last = layer_of_sequence(node.sequence);
        layer_of_node_[around] = last;
      }
      continue;
    }
    if (node.thread != thread) last = -1;
    thread = node.thread;
    if (!meaning.accumulate) last = layer_of_sequence(node.sequence);
    nodes_.push_back(id);
    layer_of_node_[id] = last;
  }
}

int StepLayers::forward_layer(RangeId range) const {
  for (; range != no_range; range = index_.parent(range)) {
    if (const auto layer = layer_of_.find(range); layer != layer_of_.end()) return layer->second;
  }
  return -1;
}

int StepLayers::backward_layer(RangeId node) const {
  const auto layer = layer_of_node_.find(node);
  return layer == layer_of_node_.end() ? -1 : layer->second;
}

RangeId StepLayers::node_before(std::uint32_t thread, Nanoseconds time) const {
  const auto later = std::upper_bound(
      nodes_.begin(), nodes_.end(), std::pair(thread, time), [&](const auto& key, RangeId node) {
        return key < std::pair(index_.range(node).thread, index_.range(node).start);
      });
  if (later == nodes_.begin() || index_.range(*(later - 1)).thread != thread) return no_range;
  return *(later - 1);
}

}  // namespace gradwire::calibration
