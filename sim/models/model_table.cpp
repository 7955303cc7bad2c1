#include "sim/models/model_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire {
namespace {

/// Types of PyTorch modules and of ONNX operators -> what they are to us.
const std::map<std::string, std::string>& kinds() {
  static const std::map<std::string, std::string> known = {
      {"Conv2d", "conv"},
      {"Conv", "conv"},
      {"Linear", "linear"},
      {"NonDynamicallyQuantizableLinear", "linear"},
      {"Gemm", "linear"},
      {"BatchNorm2d", "batch_norm"},
      {"BatchNorm1d", "batch_norm"},
      {"SyncBatchNorm", "batch_norm"},
      {"BatchNormalization", "batch_norm"},
      {"LayerNorm", "layer_norm"},
      {"LayerNormalization", "layer_norm"},
      {"ReLU", "act"},
      {"Relu", "act"},
      {"ReLU6", "act"},
      {"LeakyReLU", "act"},
      {"LeakyRelu", "act"},
      {"GELU", "act"},
      {"Gelu", "act"},
      {"SiLU", "act"},
      {"Sigmoid", "act"},
      {"Tanh", "act"},
      {"Hardswish", "act"},
      {"HardSwish", "act"},
      {"Hardsigmoid", "act"},
      {"ELU", "act"},
      {"Softmax", "softmax"},
      {"LogSoftmax", "softmax"},
      {"Dropout", "dropout"},
      {"Dropout2d", "dropout"},
      {"MaxPool2d", "max_pool"},
      {"MaxPool", "max_pool"},
      {"AvgPool2d", "average_pool"},
      {"AveragePool", "average_pool"},
      {"AdaptiveAvgPool2d", "adaptive_pool"},
      {"GlobalAveragePool", "adaptive_pool"},
      {"Embedding", "embedding"},
      {"Add", "add"},
      {"Concat", "concat"},
      {"Flatten", "flatten"},
      {"Identity", "flatten"},
      {"Reshape", "flatten"}};
  return known;
}

using Shape = std::vector<std::int64_t>;

std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Turns rows into layers; knows the table's batch.
class Converter {
 public:
  Converter(std::string file, const TableRow& first)
      : file_(std::move(file)), batch_(batch(first)) {}

  LayerSpec convert(const TableRow& row) {
    row_ = &row;
    const auto kind = kinds().find(row.kind);
    if (kind == kinds().end()) {
      const auto known = table_kinds();
      fail(fmt::format("layer '{}' is of type '{}', which is not known; expected one of {}{}",
                       row.name, row.kind, joined_by(known, ", "), suggestion(row.kind, known)));
    }
    LayerSpec spec;
    spec.name = row.name;
    spec.kind = kind->second;
    Shape input = sample(row.input, "input");
    Shape output = sample(row.output, "output");
    if (spec.kind == "linear" || spec.kind == "layer_norm") {
      input = features_last(input);
      output = features_last(output);
    }
    spec.input_shape = input;
    spec.output_shape = output;
    fill(spec, input, output);
    return spec;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, row_->line, 1}, message);
  }

  [[nodiscard]] std::int64_t batch(const TableRow& first) {
    row_ = &first;
    if (first.input.empty()) {
      fail(
          fmt::format("layer '{}' has no input shape; expected the batch and its sizes, such as "
                      "[1, 3, 224, 224]",
                      first.name));
    }
    return first.input.front();
  }

  /// The shape without the batch.
  [[nodiscard]] Shape sample(const Shape& shape, const char* what) const {
    constexpr std::int64_t size_max = 1'000'000;  // keeps products of sizes within 64 bits
    if (shape.empty() || shape.front() != batch_ || shape.size() > 4) {
      fail(fmt::format("the {} of '{}' is [{}]; expected a batch of {} and up to three sizes", what,
                       row_->name, joined_by(shape, ", "), batch_));
    }
    Shape sizes(shape.begin() + 1, shape.end());
    if (sizes.empty()) sizes.push_back(1);
    for (const std::int64_t size : sizes) {
      if (size < 1 || size > size_max) {
        fail(fmt::format("the {} of '{}' has a size of {}; expected 1 to {}", what, row_->name,
                         size, size_max));
      }
    }
    return sizes;
  }

  /// A grid of tokens, [height, width, features], as a list of them.
  [[nodiscard]] static Shape features_last(const Shape& shape) {
    return shape.size() == 3 ? Shape{shape[0] * shape[1], shape[2]} : shape;
  }

  [[nodiscard]] std::int64_t parameters() const {
    if (row_->parameters) return *row_->parameters;
    fail(fmt::format("layer '{}' has no parameter count; expected it for a layer of type {}",
                     row_->name, row_->kind));
  }

  /// Height and width; a weight's full shape ends in them.
  [[nodiscard]] Window kernel() const {
    constexpr std::int64_t kernel_max = 1'000;
    const Shape& sides = row_->kernel;
    if (sides.empty()) {
      fail(fmt::format("layer '{}' has no kernel; expected its height and width, such as [3, 3]",
                       row_->name));
    }
    const Window window = sides.size() == 1
                              ? square(sides.front())
                              : Window{sides[sides.size() - 2], sides[sides.size() - 1]};
    if (std::min(window.height, window.width) < 1 ||
        std::max(window.height, window.width) > kernel_max) {
      fail(fmt::format("the kernel of '{}' is {} x {}; expected 1 to {} each", row_->name,
                       window.height, window.width, kernel_max));
    }
    return window;
  }

  void require_image(const Shape& shape) const {
    if (shape.size() == 3) return;
    fail(
        fmt::format("layer '{}' of type {} has a shape of {} sizes behind the batch; expected "
                    "channels, height and width",
                    row_->name, row_->kind, shape.size()));
  }

  [[noreturn]] void fail_count(const std::string& expected) const {
    fail(fmt::format("layer '{}' has {} parameters; expected {}", row_->name, parameters(),
                     expected));
  }

  void fill(LayerSpec& spec, const Shape& input, const Shape& output) {
    if (spec.kind == "conv") {
      conv(spec, input, output);
    } else if (spec.kind == "max_pool" || spec.kind == "average_pool") {
      require_image(input);
      require_image(output);
      spec.kernel = kernel();
    } else if (spec.kind == "adaptive_pool") {
      require_image(input);
      require_image(output);
      spec.size = output[1];
    } else if (spec.kind == "linear") {
      linear(spec, input, output);
    } else if (spec.kind == "embedding") {
      spec.out = output.back();
      spec.rows = parameters() / spec.out;
      if (spec.rows < 1 || spec.rows * spec.out != parameters()) {
        fail_count(fmt::format("a multiple of its width, {}", spec.out));
      }
    } else if (spec.kind == "batch_norm" || spec.kind == "layer_norm") {
      norm(spec, input);
    } else if (spec.kind == "add" || spec.kind == "concat") {
      join(spec, output);
    } else if (row_->parameters.value_or(0) != 0) {
      fail_count(fmt::format("none for a layer of type {}", row_->kind));
    }
  }

  /// The groups and the bias that give the count; one group where several do.
  void conv(LayerSpec& spec, const Shape& input, const Shape& output) {
    require_image(input);
    require_image(output);
    spec.out = output[0];
    spec.kernel = kernel();
    const std::int64_t area = spec.kernel.height * spec.kernel.width;
    for (std::int64_t groups = 1; groups <= input[0]; ++groups) {
      if (input[0] % groups != 0 || spec.out % groups != 0) continue;
      const std::int64_t weight = spec.out * (input[0] / groups) * area;
      for (const bool bias : {false, true}) {
        if (parameters() != weight + (bias ? spec.out : 0)) continue;
        spec.groups = groups;
        spec.bias = bias;
        return;
      }
    }
    fail_count(fmt::format("{} x {} x {} / groups, and {} more with a bias", spec.out, input[0],
                           area, spec.out));
  }

  void linear(LayerSpec& spec, const Shape& input, const Shape& output) {
    spec.out = output.back();
    const std::int64_t weight = spec.out * input.back();
    spec.bias = parameters() == weight + spec.out;
    if (!spec.bias && parameters() != weight) {
      fail_count(fmt::format("{} x {}, and {} more with a bias", input.back(), spec.out, spec.out));
    }
  }

  void norm(const LayerSpec& spec, const Shape& input) {
    const std::int64_t features = spec.kind == "batch_norm" ? input.front() : input.back();
    if (parameters() != 2 * features) fail_count(fmt::format("{}", 2 * features));
  }

  /// A table does not say which layers are joined; what moves follows from the output.
  void join(LayerSpec& spec, const Shape& output) {
    const bool add = spec.kind == "add";
    if (row_->parameters.value_or(0) != 0) fail_count("none");
    spec.kind = "raw";
    spec.work_kind = add ? "add" : "other";
    spec.forward = {.elements = (add ? 3.0 : 2.0) * static_cast<double>(elements(output))};
    spec.backward = {.kernels = 0};
  }

  std::string file_;
  const TableRow* row_ = nullptr;
  std::int64_t batch_ = 0;
};

}  // namespace

std::vector<LayerSpec> layers_of_table(const std::vector<TableRow>& rows, const std::string& file) {
  Converter converter(file, rows.front());
  std::vector<LayerSpec> layers;
  Shape before;
  for (const TableRow& row : rows) {
    LayerSpec spec = converter.convert(row);
    const Shape output = spec.output_shape;
    // what follows from the layer before needs no shape of its own
    if (layers.empty() || spec.input_shape == before) spec.input_shape.clear();
    layers.push_back(std::move(spec));
    before = output;
  }
  return layers;
}

std::vector<std::string> table_kinds() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds()) names.push_back(name);
  return names;
}

}  // namespace gradwire
