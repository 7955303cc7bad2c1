#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "sim/models/builder.hpp"

namespace gradwire {

void ModelBuilder::register_before(const std::string& prefix, const std::string& other) {
  placements_.push_back({prefix, other});
}

void ModelBuilder::add_statistics(int number, std::int64_t elements) {
  model_.buffers += number;
  model_.buffer_elements += elements;
  model_.has_statistics = true;
}

void ModelBuilder::add_mask(std::int64_t elements) {
  ++model_.buffers;
  model_.buffer_elements += elements;
  model_.buffer_bytes += Bytes{elements};
}

void ModelBuilder::freeze() {
  frozen_ = model_.layers.size();
  for (ModelLayer& layer : model_.layers) {
    layer.backward = {.kernels = 0};
    layer.kept_bytes = 0;
    layer.autocast_kept_bytes = 0;
    layer.parameters.clear();
  }
  for (auto& ready : ready_) ready.clear();
  for (Value& value : values_) value.input = true;
}

ModelDescription ModelBuilder::finish() {
  add_kept();
  add_casts();
  insert_gradient_sums();
  model_.gradient_order = gradient_order();
  model_.registration_order = registration_order();
  return std::move(model_);
}

void ModelBuilder::add_kept() {
  const bool in_place = std::ranges::any_of(
      model_.layers, [](const ModelLayer& layer) { return layer.convolution.has_value(); });
  std::vector<bool> kept(values_.size(), false);
  for (std::size_t l = frozen_; l < model_.layers.size(); ++l) {
    ModelLayer& layer = model_.layers[l];
    const auto keep = [&](int value) {
      const auto index = static_cast<std::size_t>(value);
      if (!kept[index]) layer.kept += static_cast<double>(values_[index].elements);
      kept[index] = true;
    };
    const bool result = layer.kind == "softmax" || layer.fused_attention ||
                        (layer.kind == "act" && in_place && !layer.keeps_input);
    const bool nothing = layer.kind == "add" || layer.kind == "embed" || layer.kind == "other";
    if (result) keep(writes_[l]);
    if (nothing || (result && !layer.fused_attention)) continue;
    for (const int value : reads_[l]) keep(value);
  }
}

namespace {

constexpr double kept_element_bytes = 2;

}  // namespace

void ModelBuilder::add_casts() {
  std::vector<bool> in_fp32(values_.size(), false);
  std::vector<bool> cast(values_.size(), false);
  for (std::size_t l = 0; l < model_.layers.size(); ++l) {
    ModelLayer& layer = model_.layers[l];
    const auto written = static_cast<std::size_t>(writes_[l]);
    in_fp32[written] = layer.kind == "norm" || layer.kind == "add";
    if (!layer.product || !layer.product->weight_operand) continue;
    for (const int value : reads_[l]) {
      const auto index = static_cast<std::size_t>(value);
      if (!in_fp32[index]) continue;
      const auto elements = static_cast<double>(values_[index].elements);
      layer.casts += elements;
      // The first cast is what add_kept() counts; each further product has one of its own.
      if (cast[index]) layer.autocast_kept_bytes += kept_element_bytes * elements;
      cast[index] = true;
    }
  }
}

/// Backward runs the last reader first; it has nothing to add to.
void ModelBuilder::insert_gradient_sums() {
  std::vector<ModelLayer> layers;
  std::vector<std::vector<int>> ready;
  for (std::size_t l = 0; l < model_.layers.size(); ++l) {
    ModelLayer sum;
    sum.name = model_.layers[l].name + ".grad_sum";
    sum.kind = "add";
    sum.forward.kernels = 0;
    sum.backward.kernels = 0;
    for (const int read : reads_[l]) {
      const Value& value = values_[static_cast<std::size_t>(read)];
      if (value.input || value.last_reader == static_cast<int>(l)) continue;
      sum.backward.elements += 3 * static_cast<double>(value.elements);
      ++sum.backward.kernels;
    }
    if (sum.backward.kernels > 0) {
      layers.push_back(std::move(sum));
      ready.emplace_back();
    }
    layers.push_back(std::move(model_.layers[l]));
    ready.push_back(std::move(ready_[l]));
  }
  model_.layers = std::move(layers);
  ready_ = std::move(ready);
}

std::vector<TensorId> ModelBuilder::gradient_order() const {
  TensorId first = 0;
  for (const ModelLayer& layer : model_.layers) first += static_cast<int>(layer.parameters.size());
  std::vector<TensorId> order;
  for (std::size_t l = model_.layers.size(); l-- > 0;) {
    first -= static_cast<int>(model_.layers[l].parameters.size());
    assert(ready_[l].size() == model_.layers[l].parameters.size());
    for (const int tensor : ready_[l]) order.push_back(first + tensor);
  }
  return order;
}

std::vector<TensorId> ModelBuilder::registration_order() const {
  std::vector<std::string> names;
  for (const ModelLayer& layer : model_.layers) {
    for (const ParameterSpec& parameter : layer.parameters) names.push_back(parameter.name);
  }
  std::vector<TensorId> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  for (const Placement& placement : placements_) {
    const auto begins_with = [&](const std::string& prefix) {
      return [&](TensorId id) { return names[static_cast<std::size_t>(id)].starts_with(prefix); };
    };
    std::vector<TensorId> moved;
    std::ranges::copy_if(order, std::back_inserter(moved), begins_with(placement.prefix));
    std::erase_if(order, begins_with(placement.prefix));
    const auto place = std::ranges::find_if(order, begins_with(placement.before));
    assert(place != order.end());
    order.insert(place, moved.begin(), moved.end());
  }
  return order;
}

}  // namespace gradwire
