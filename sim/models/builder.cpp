#include "sim/models/builder.hpp"
#include "sim/models/primitives.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace gradwire {
namespace {

std::size_t index_of(int number) {
  assert(number >= 0);
  return static_cast<std::size_t>(number);
}

/// Where `kernel` lands along one axis: PyTorch's rule, in which a last window that would begin in
/// the padding behind the input is dropped.
std::int64_t windows(std::int64_t length, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding, bool ceil = false) {
  assert(length + 2 * padding >= kernel && stride >= 1);
  const std::int64_t room = length + 2 * padding - kernel;
  std::int64_t number = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (number - 1) * stride >= length + padding) --number;
  return number;
}

Activation pooled(const Activation& input, const Pooling& shape) {
  return {.channels = input.channels,
          .height = windows(input.height, shape.kernel.height, shape.stride, shape.padding.height,
                            shape.ceil),
          .width = windows(input.width, shape.kernel.width, shape.stride, shape.padding.width,
                           shape.ceil)};
}

// Pooling is bound by the arithmetic of its indices: on an H100 it takes as long in bf16 as in
// TF32. What an average takes, in elements that a maximum over 3x3 windows of stride 2 would read
// and write in its time: forward an output; backward an input, and more for each window over it.
// Measured there (PyTorch 2.11, recorded by us) on 3x3 of stride 1, 5x5 of stride 3 (Inception-v3)
// and 2x2 (DenseNet-201), against ResNet-50's maximum: 12.5 and 11.8 ps an output, which there is
// 15.9; 30.5, 23 and 17.9 ps an input, which there is 11.5.
constexpr double average_forward = 3.9;
constexpr double average_backward = 4.6;
constexpr double average_window = 0.4;

std::string convolution_kind(const Convolution& shape) {
  if (shape.groups > 1) return "grouped_conv";
  const std::int64_t side = std::max(shape.kernel.height, shape.kernel.width);
  if (side == 1) return "conv1";
  return side <= 3 ? "conv3" : "conv7";
}

ParameterSpec tensor(const std::string& name, std::vector<std::int64_t> shape) {
  return {.name = name, .shape = std::move(shape), .ready = {}};
}

/// Marks the embedding's table of this shape, the first one, as a later layer's weight, too.
void share_table(std::vector<ModelLayer>& layers, const std::vector<std::int64_t>& shape) {
  for (ModelLayer& layer : layers) {
    if (layer.kind != "embed" || layer.parameters.empty()) continue;
    ParameterSpec& table = layer.parameters.front();
    if (table.shape != shape) continue;
    table.shared = true;
    return;
  }
}

/// One operator's matrix work in backward: the weights' gradient, and the input's where one flows.
LayerWork matrix_backward(const LayerWork& forward, bool input_gradient) {
  const int directions = input_gradient ? 2 : 1;
  return {.flops = directions * forward.flops,
          .elements = directions * forward.elements,
          .kernels = directions};
}

std::vector<int> reversed(std::size_t tensors) {
  std::vector<int> order(tensors);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

}  // namespace

ModelLayer operation(const std::string& name, const std::string& kind, const LayerWork& forward,
                     const LayerWork& backward) {
  ModelLayer layer;
  layer.name = name;
  layer.kind = kind;
  layer.forward = forward;
  layer.backward = backward;
  return layer;
}

ModelBuilder::ModelBuilder(std::string name, std::string source) {
  model_.name = std::move(name);
  model_.source = std::move(source);
}

Activation ModelBuilder::make_value(Activation shape, bool input) {
  shape.value = static_cast<int>(values_.size());
  values_.push_back({.elements = shape.elements(), .input = input});
  return shape;
}

bool ModelBuilder::is_input(const Activation& activation) const {
  return values_[index_of(activation.value)].input;
}

Activation ModelBuilder::image(std::int64_t channels, std::int64_t side) {
  return make_value({.channels = channels, .height = side, .width = side}, true);
}

Activation ModelBuilder::tokens(std::int64_t count) {
  model_.tokens = static_cast<int>(count);
  return make_value({.channels = 1, .height = count}, true);
}

Activation ModelBuilder::input(const Activation& shape) {
  return make_value(shape, true);
}

Activation ModelBuilder::activation(const Activation& shape) {
  return make_value(shape);
}

Activation ModelBuilder::flatten(const Activation& input) {
  return {.value = input.value, .channels = input.elements()};
}

Activation ModelBuilder::custom(ModelLayer layer, std::span<const Activation> inputs,
                                const Activation& output, std::vector<int> ready) {
  std::vector<int> reads;
  reads.reserve(inputs.size());
  for (const Activation& input : inputs) {
    reads.push_back(input.value);
    values_[index_of(input.value)].last_reader = static_cast<int>(model_.layers.size());
  }
  const std::size_t tensors = layer.parameters.size();
  reads_.push_back(std::move(reads));
  ready_.push_back(ready.empty() ? reversed(tensors) : std::move(ready));
  layer.result = output.count();
  model_.layers.push_back(std::move(layer));
  const Activation made = make_value(output);
  writes_.push_back(made.value);
  return made;
}

Activation ModelBuilder::simple(const std::string& name, const std::string& kind,
                                const Activation& input, const Activation& output, double forward,
                                double backward) {
  return custom(operation(name, kind, {.elements = forward},
                          {.elements = backward, .kernels = backward > 0 ? 1 : 0}),
                {{input}}, output);
}

Activation ModelBuilder::conv(const std::string& name, const Activation& input,
                              const Convolution& shape) {
  assert(input.channels % shape.groups == 0 && shape.out % shape.groups == 0);
  const Activation output = {
      .channels = shape.out,
      .height = windows(input.height, shape.kernel.height, shape.stride, shape.padding.height),
      .width = windows(input.width, shape.kernel.width, shape.stride, shape.padding.width)};
  const std::int64_t depth =
      input.channels / shape.groups * shape.kernel.height * shape.kernel.width;
  const LayerWork forward = {.flops = 2.0 * output.count() * static_cast<double>(depth),
                             .elements = input.count() + output.count()};
  ModelLayer layer =
      operation(name, convolution_kind(shape), forward, matrix_backward(forward, !is_input(input)));
  layer.convolution = ConvolutionShape{.in_channels = input.channels,
                                       .out_channels = shape.out,
                                       .kernel_height = shape.kernel.height,
                                       .kernel_width = shape.kernel.width,
                                       .stride = shape.stride,
                                       .groups = shape.groups,
                                       .out_height = output.height,
                                       .out_width = output.width};
  layer.parameters = {tensor(name + ".weight", {shape.out, input.channels / shape.groups,
                                                shape.kernel.height, shape.kernel.width})};
  if (shape.bias) {
    layer.forward.elements += 2 * output.count();
    layer.backward.elements += output.count();
    ++layer.forward.kernels;
    ++layer.backward.kernels;
    layer.parameters.push_back(tensor(name + ".bias", {shape.out}));
  }
  return custom(std::move(layer), {{input}}, output);
}

Activation ModelBuilder::tied_conv(const std::string& name, const Activation& input,
                                   const Convolution& shape) {
  const Activation output = conv(name, input, shape);
  model_.layers.back().parameters.clear();
  ready_.back().clear();
  return output;
}

Activation ModelBuilder::batch_norm(const std::string& name, const Activation& input) {
  ModelLayer layer =
      operation(name, "norm", {.elements = 3 * input.count()}, {.elements = 5 * input.count()});
  layer.parameters = {tensor(name + ".weight", {input.channels}),
                      tensor(name + ".bias", {input.channels})};
  add_statistics(3,
                 2 * input.channels + 1);  // running mean and variance, and the number of batches
  return custom(std::move(layer), {{input}}, input, {0, 1});
}

Activation ModelBuilder::layer_norm(const std::string& name, const Activation& input) {
  ModelLayer layer = operation(name, "norm", {.elements = 2 * input.count()},
                               {.elements = 3 * input.count(), .kernels = 2});  // dx; weight, bias
  layer.autocast_kept_bytes = 2 * input.count();  // its input in 4 bytes
  layer.primitive = primitive_layer_norm(input.count());
  layer.parameters = {tensor(name + ".weight", {input.channels}),
                      tensor(name + ".bias", {input.channels})};
  return custom(std::move(layer), {{input}}, input, {0, 1});
}

Activation ModelBuilder::max_pool(const std::string& name, const Activation& input,
                                  const Pooling& shape) {
  const Activation output = pooled(input, shape);
  const double moved = input.count() + output.count();
  ModelLayer layer = operation(name, "pool", {.elements = moved}, {.elements = 2.5 * moved});
  layer.kept_bytes = 8 * output.count();  // where each maximum was, as int64
  return custom(std::move(layer), {{input}}, output);
}

Activation ModelBuilder::average_pool(const std::string& name, const Activation& input,
                                      const Pooling& shape) {
  const Activation output = pooled(input, shape);
  const auto stride = static_cast<double>(shape.stride * shape.stride);
  const double windows_over =
      static_cast<double>(shape.kernel.height * shape.kernel.width) / stride;
  return simple(name, "pool", input, output, average_forward * output.count(),
                (average_backward + average_window * windows_over) * input.count());
}

Activation ModelBuilder::adaptive_pool(const std::string& name, const Activation& input,
                                       std::int64_t side) {
  const Activation output = {.channels = input.channels, .height = side, .width = side};
  const double moved = input.count() + output.count();
  return simple(name, "pool", input, output, moved, moved);
}

Activation ModelBuilder::matrix(const std::string& name, const Activation& input,
                                std::int64_t out) {
  const Activation output = {.channels = out, .height = input.height, .width = input.width};
  const LayerWork forward = {.flops = 2.0 * input.count() * static_cast<double>(out),
                             .elements = input.count() + output.count()};
  ModelLayer layer = operation(name, "linear", forward, matrix_backward(forward, !is_input(input)));
  layer.product =
      MatrixShape{.rows = input.height * input.width, .columns = out, .depth = input.channels};
  return custom(std::move(layer), {{input}}, output);
}

Activation ModelBuilder::linear(const std::string& name, const Activation& input, std::int64_t out,
                                Bias bias) {
  const Activation output = matrix(name, input, out);
  ModelLayer& layer = model_.layers.back();
  layer.parameters = {tensor(name + ".weight", {out, input.channels})};
  if (bias == Bias::own) {
    layer.backward.elements += output.count();
    ++layer.backward.kernels;
    layer.primitive = primitive_bias(layer, output.count());
    layer.parameters.push_back(tensor(name + ".bias", {out}));
  }
  ready_.back() = reversed(layer.parameters.size());
  return output;
}

Activation ModelBuilder::transposed_linear(const std::string& name, const Activation& input,
                                           std::int64_t out) {
  const Activation output = linear(name, input, out);
  std::ranges::reverse(model_.layers.back().parameters.front().shape);
  return output;
}

Activation ModelBuilder::tied_linear(const std::string& name, const Activation& input,
                                     std::int64_t out, const std::string& bias_name) {
  share_table(model_.layers, {out, input.channels});
  const Activation output = matrix(name, input, out);
  if (bias_name.empty()) return output;
  ModelLayer& layer = model_.layers.back();
  layer.backward.elements += output.count();
  ++layer.backward.kernels;
  layer.parameters = {tensor(bias_name, {out})};
  ready_.back() = {0};
  return output;
}

Activation ModelBuilder::bias(const std::string& name, const Activation& input) {
  ModelLayer layer =
      operation(name, "other", {.elements = 2 * input.count()}, {.elements = input.count()});
  layer.parameters = {tensor(name, {input.channels})};
  return custom(std::move(layer), {{input}}, input);
}

Activation ModelBuilder::product(const std::string& name, const Activation& left,
                                 const Activation& right, const MatrixShape& shape) {
  const Activation output = {.channels = shape.columns * shape.count, .height = shape.rows};
  const LayerWork forward = {.flops = 2.0 * output.count() * static_cast<double>(shape.depth),
                             .elements = left.count() + right.count() + output.count()};
  ModelLayer layer = operation(name, "linear", forward, matrix_backward(forward, true));
  layer.product = shape;
  layer.product->weight_operand = false;
  return custom(std::move(layer), {{left, right}}, output);
}

Activation ModelBuilder::tied_embedding(const std::string& name, const Activation& tokens,
                                        std::int64_t width) {
  const Activation output = {.channels = width, .height = tokens.height};
  return custom(operation(name, "embed", {.elements = 2 * output.count()},
                          {.elements = 3 * output.count(), .kernels = 2}),  // clear, scatter
                {{tokens}}, output);
}

Activation ModelBuilder::embedding(const std::string& name, const Activation& tokens,
                                   std::int64_t rows, std::int64_t width) {
  const Activation output = tied_embedding(name, tokens, width);
  model_.layers.back().parameters = {tensor(name + ".weight", {rows, width})};
  model_.layers.back().looked_up = {.of_sample = tokens.height};
  ready_.back() = {0};
  return output;
}

Activation ModelBuilder::gather(const std::string& name, const Activation& input,
                                std::int64_t rows) {
  const Activation output = {.channels = input.channels, .height = rows};
  return simple(name, "other", input, output, 2 * output.count(),
                input.count() + 2 * output.count());  // zeros everywhere, then the rows
}

}  // namespace gradwire
