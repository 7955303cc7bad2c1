#include "sim/models/layer_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/error.hpp"
#include "sim/models/attention.hpp"

namespace gradwire {
namespace {

std::string shape_text(const Activation& activation) {
  return fmt::format("{} x {} x {}", activation.channels, activation.height, activation.width);
}

/// Builds one network; remembers what each layer gave.
class Assembly {
 public:
  Assembly(const std::string& name, const std::string& source,
           const std::vector<std::int64_t>& input)
      : net_(name, source) {
    last_ = net_.input(activation_of(input));
  }

  void append(std::size_t index, const LayerSpec& spec) {
    index_ = index;
    if (outputs_.contains(spec.name)) {
      fail("name", fmt::format("layer '{}' stands twice; expected each name once", spec.name));
    }
    const std::vector<Activation> inputs = inputs_of(spec);
    last_ = layer(spec, inputs);
    outputs_[spec.name] = last_;
    if (spec.kind == "embedding") tables_[spec.name] = {.rows = spec.rows, .width = spec.out};
    if (!spec.output_shape.empty()) check_output(spec);
  }

  ModelDescription finish() { return net_.finish(); }

 private:
  struct Table {
    std::int64_t rows = 0;
    std::int64_t width = 0;
  };

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw LayerListError(index_, key, message);
  }

  static Activation activation_of(const std::vector<std::int64_t>& shape) {
    if (shape.size() == 3) return {.channels = shape[0], .height = shape[1], .width = shape[2]};
    if (shape.size() == 2) return {.channels = shape[1], .height = shape[0]};
    return {.channels = shape.at(0)};
  }

  std::vector<Activation> inputs_of(const LayerSpec& spec) {
    const bool joins = spec.kind == "add" || spec.kind == "concat" || spec.kind == "product" ||
                       spec.kind == "attention";
    if (!spec.input_shape.empty()) {
      if (joins) fail("input", "a layer that joins others reads layers; expected their names");
      const Activation shape = activation_of(spec.input_shape);
      if (shape.elements() == last_.elements()) return {reshaped(last_, shape)};
      return {net_.activation(shape)};
    }
    std::vector<Activation> inputs;
    for (const std::string& name : spec.inputs) inputs.push_back(output_of(name));
    if (inputs.empty()) inputs.push_back(last_);
    if (joins && inputs.size() < 2) {
      fail("inputs", fmt::format("'{}' reads one layer; expected the names of two or more as "
                                 "'inputs'",
                                 spec.name));
    }
    if (!joins && inputs.size() > 1 && spec.kind != "raw") {
      fail("inputs", fmt::format("'{}' reads {} layers; expected one for a layer of kind {}",
                                 spec.name, inputs.size(), spec.kind));
    }
    return inputs;
  }

  static Activation reshaped(const Activation& from, Activation shape) {
    shape.value = from.value;
    return shape;
  }

  [[nodiscard]] const Activation& output_of(const std::string& name) const {
    const auto found = outputs_.find(name);
    if (found != outputs_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [earlier, output] : outputs_) known.push_back(earlier);
    fail("inputs", fmt::format("no layer '{}' stands before this one; expected the name of an "
                               "earlier layer{}",
                               name, suggestion(name, known)));
  }

  Activation layer(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    const Activation& x = inputs.front();
    if (spec.kind == "conv") return conv(spec, x);
    if (spec.kind == "max_pool" || spec.kind == "average_pool") return pool(spec, x);
    if (spec.kind == "adaptive_pool") return net_.adaptive_pool(spec.name, x, spec.size);
    if (spec.kind == "linear") return linear(spec, x);
    if (spec.kind == "embedding") {
      const Activation tokens = {.value = x.value, .channels = 1, .height = x.elements()};
      return net_.embedding(spec.name, tokens, spec.rows, spec.out);
    }
    if (spec.kind == "batch_norm") return net_.batch_norm(spec.name, x);
    if (spec.kind == "layer_norm") return net_.layer_norm(spec.name, x);
    if (spec.kind == "act") return net_.act(spec.name, x);
    if (spec.kind == "softmax") return net_.softmax(spec.name, x);
    if (spec.kind == "dropout") return net_.dropout(spec.name, x);
    if (spec.kind == "flatten") return ModelBuilder::flatten(x);
    if (spec.kind == "add") return add(spec, inputs);
    if (spec.kind == "concat") return concat(spec, inputs);
    if (spec.kind == "product") return product(spec, inputs);
    if (spec.kind == "attention") return attention(spec, inputs);
    return raw(spec, inputs);
  }

  /// Stride and padding that turn `length` into `output`: the largest stride that does, with the
  /// least padding.
  [[nodiscard]] static std::optional<std::pair<std::int64_t, std::int64_t>> steps(
      std::int64_t length, std::int64_t output, std::int64_t kernel) {
    std::optional<std::pair<std::int64_t, std::int64_t>> best;
    for (std::int64_t padding = 0; padding <= kernel / 2; ++padding) {
      const std::int64_t room = length + 2 * padding - kernel;  // for further windows
      if (room < 0) continue;
      const std::int64_t stride = output > 1 ? room / (output - 1) : room + 1;
      if (stride < 1 || room / stride + 1 != output) continue;
      if (!best || stride > best->first) best = {stride, padding};
    }
    return best;
  }

  struct Step {
    std::int64_t stride = 1;
    Window padding = {0, 0};
  };

  /// As the file says, or what leads to its output shape.
  static Step step_of(const LayerSpec& spec, const Activation& x, std::int64_t default_stride) {
    if (spec.output_shape.size() == 3 && !spec.stride && !spec.padding) {
      const auto high = steps(x.height, spec.output_shape[1], spec.kernel.height);
      const auto wide = steps(x.width, spec.output_shape[2], spec.kernel.width);
      if (high && wide && high->first == wide->first) {
        return {.stride = high->first, .padding = {high->second, wide->second}};
      }
    }
    return {.stride = spec.stride.value_or(default_stride),
            .padding = spec.padding.value_or(Window{0, 0})};
  }

  void check_window(const LayerSpec& spec, const Activation& x, const Window& padding) const {
    if (x.height + 2 * padding.height >= spec.kernel.height &&
        x.width + 2 * padding.width >= spec.kernel.width) {
      return;
    }
    fail("kernel", fmt::format("a kernel of {} x {} does not fit its input of {} x {} with a "
                               "padding of {} x {}; expected a smaller one",
                               spec.kernel.height, spec.kernel.width, x.height, x.width,
                               padding.height, padding.width));
  }

  Activation conv(const LayerSpec& spec, const Activation& x) {
    const Step step = step_of(spec, x, 1);
    check_window(spec, x, step.padding);
    if (x.channels % spec.groups != 0 || spec.out % spec.groups != 0) {
      fail("groups", fmt::format("{} groups do not divide {} input and {} output channels; "
                                 "expected a divisor of both",
                                 spec.groups, x.channels, spec.out));
    }
    return net_.conv(spec.name, x,
                     {.out = spec.out,
                      .kernel = spec.kernel,
                      .stride = step.stride,
                      .padding = step.padding,
                      .groups = spec.groups,
                      .bias = spec.bias});
  }

  Activation pool(const LayerSpec& spec, const Activation& x) {
    const Step step = step_of(spec, x, spec.kernel.height);
    check_window(spec, x, step.padding);
    const Pooling shape = {
        .kernel = spec.kernel, .stride = step.stride, .padding = step.padding, .ceil = spec.ceil};
    return spec.kind == "max_pool" ? net_.max_pool(spec.name, x, shape)
                                   : net_.average_pool(spec.name, x, shape);
  }

  Activation linear(const LayerSpec& spec, const Activation& x) {
    if (spec.tied_to.empty()) {
      return net_.linear(spec.name, x, spec.out,
                         spec.bias ? ModelBuilder::Bias::own : ModelBuilder::Bias::none);
    }
    const auto table = tables_.find(spec.tied_to);
    if (table == tables_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, shape] : tables_) known.push_back(name);
      fail("tied_to", fmt::format("no embedding '{}' stands before this layer; expected the name "
                                  "of one{}",
                                  spec.tied_to, suggestion(spec.tied_to, known)));
    }
    if (table->second.rows != spec.out || table->second.width != x.channels) {
      fail("tied_to", fmt::format("the table of '{}' is {} x {}, the layer's weight {} x {}; "
                                  "expected the same shape",
                                  spec.tied_to, table->second.rows, table->second.width, spec.out,
                                  x.channels));
    }
    return net_.tied_linear(spec.name, x, spec.out, spec.bias ? spec.name + ".bias" : "");
  }

  Activation add(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    if (inputs.size() > 2) {
      fail("inputs", fmt::format("'{}' adds {} layers; expected two, one addition a layer",
                                 spec.name, inputs.size()));
    }
    if (inputs[0].elements() != inputs[1].elements()) {
      fail("inputs", fmt::format("'{}' adds {} and {}; expected equal shapes", spec.name,
                                 shape_text(inputs[0]), shape_text(inputs[1])));
    }
    return net_.add(spec.name, inputs[0], inputs[1]);
  }

  Activation concat(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    for (const Activation& input : inputs) {
      if (input.height != inputs[0].height || input.width != inputs[0].width) {
        fail("inputs", fmt::format("'{}' joins {} and {}; expected equal heights and widths",
                                   spec.name, shape_text(inputs[0]), shape_text(input)));
      }
    }
    return net_.concat(spec.name, inputs);
  }

  Activation product(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    const MatrixShape& shape = spec.product;
    if (inputs.size() == 2 && inputs[0].elements() == shape.count * shape.rows * shape.depth &&
        inputs[1].elements() == shape.count * shape.depth * shape.columns) {
      return net_.product(spec.name, inputs[0], inputs[1], shape);
    }
    fail("product", fmt::format("{} products of {} x {} and {} x {} do not read the elements of "
                                "its inputs; expected two inputs of {} and {} elements",
                                shape.count, shape.rows, shape.depth, shape.depth, shape.columns,
                                shape.count * shape.rows * shape.depth,
                                shape.count * shape.depth * shape.columns));
  }

  /// One kernel each way with a causal mask. Keys and values have as many heads as each other.
  Activation attention(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    if (inputs.size() != 3) {
      fail("inputs", fmt::format("'{}' reads {} layers; expected queries, keys and values",
                                 spec.name, inputs.size()));
    }
    const Activation& query = inputs[0];
    if (query.channels % spec.heads != 0) {
      fail("heads", fmt::format("{} heads do not divide {} features; expected a divisor",
                                spec.heads, query.channels));
    }
    const std::int64_t size = query.channels / spec.heads;
    const std::int64_t kv = inputs[1].channels;
    const bool alike = inputs[2].channels == kv && inputs[1].height == query.height &&
                       inputs[2].height == query.height;
    if (!alike || kv % size != 0 || spec.heads % (kv / size) != 0) {
      fail("inputs", fmt::format("keys of {} and values of {} beside queries of {}; expected as "
                                 "many tokens, and a divisor of {} heads of {} features",
                                 shape_text(inputs[1]), shape_text(inputs[2]), shape_text(query),
                                 spec.heads, size));
    }
    return flash_attend(net_, spec.name, query, inputs[1], inputs[2],
                        {.heads = spec.heads, .size = size, .value_size = size});
  }

  Activation raw(const LayerSpec& spec, const std::vector<Activation>& inputs) {
    ModelLayer layer;
    layer.name = spec.name;
    layer.kind = spec.work_kind;
    layer.forward = spec.forward;
    layer.backward = spec.backward;
    layer.parameters = spec.parameters;
    const Activation output =
        spec.output_shape.empty() ? inputs.front() : activation_of(spec.output_shape);
    return net_.custom(std::move(layer), inputs, output);
  }

  void check_output(const LayerSpec& spec) {
    const Activation expected = activation_of(spec.output_shape);
    if (expected.elements() == last_.elements()) return;
    fail("output", fmt::format("'{}' gives {}, not {}; expected the shape that its kind, kernel, "
                               "stride and padding give",
                               spec.name, shape_text(last_), shape_text(expected)));
  }

  ModelBuilder net_;
  Activation last_;
  std::map<std::string, Activation> outputs_;
  std::map<std::string, Table> tables_;
  std::size_t index_ = 0;
};

/// Each tensor has a name of its own.
void check_tensor_names(const ModelDescription& model, const std::vector<LayerSpec>& layers) {
  std::set<std::string> seen;
  for (const ModelLayer& layer : model.layers) {
    for (const ParameterSpec& parameter : layer.parameters) {
      if (seen.insert(parameter.name).second) continue;
      const auto spec = std::ranges::find(layers, layer.name, &LayerSpec::name);
      throw LayerListError(
          static_cast<std::size_t>(spec - layers.begin()), "parameters",
          fmt::format("tensor '{}' stands twice; expected each name once", parameter.name));
    }
  }
}

}  // namespace

const std::vector<std::string>& layer_spec_kinds() {
  static const std::vector<std::string> kinds = {
      "conv",      "linear",  "batch_norm", "layer_norm", "act",          "softmax",
      "dropout",   "add",     "concat",     "max_pool",   "average_pool", "adaptive_pool",
      "embedding", "product", "attention",  "flatten",    "raw"};
  return kinds;
}

ModelDescription build_layers(const std::string& name, const std::string& source,
                              const std::vector<std::int64_t>& input,
                              const std::vector<LayerSpec>& layers) {
  Assembly assembly(name, source, input);
  for (std::size_t i = 0; i < layers.size(); ++i) assembly.append(i, layers[i]);
  ModelDescription model = assembly.finish();
  check_tensor_names(model, layers);
  return model;
}

}  // namespace gradwire
