#include "calibration/attribution/layer_ops.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace gradwire::calibration {
namespace {

/// "softmax" of "aten::_softmax", which another operator calls.
std::string_view plain(std::string_view op) {
  std::string_view name = name_of_operator(op);
  while (name.starts_with('_')) name.remove_prefix(1);
  return name;
}

struct KindRule {
  std::string_view part;  ///< of the operator's name
  std::string_view kind;
};

// The first that a name contains counts. Element-wise work without parameters is "act", and "add"
// where it joins two branches, as in sim/models.
constexpr auto rules = std::to_array<KindRule>({{"conv", "conv"},
                                                {"batch_norm", "norm"},
                                                {"layer_norm", "norm"},
                                                {"group_norm", "norm"},
                                                {"instance_norm", "norm"},
                                                {"rms_norm", "norm"},
                                                {"embedding", "embed"},
                                                {"softmax", "softmax"},
                                                {"loss", "softmax"},
                                                {"pool", "pool"},
                                                {"interpolate", "pool"},
                                                {"upsample", "pool"},
                                                {"attention", "linear"},
                                                {"linear", "linear"},
                                                {"addmm", "linear"},
                                                {"baddbmm", "linear"},
                                                {"bmm", "linear"},
                                                {"matmul", "linear"},
                                                {"einsum", "linear"},
                                                {"lstm", "linear"},
                                                {"gru", "linear"},
                                                {"rnn", "linear"},
                                                {"relu", "act"},
                                                {"gelu", "act"},
                                                {"silu", "act"},
                                                {"sigmoid", "act"},
                                                {"tanh", "act"},
                                                {"hardswish", "act"},
                                                {"mish", "act"},
                                                {"elu", "act"},
                                                {"clamp", "act"},
                                                {"dropout", "act"},
                                                {"softplus", "act"},
                                                {"hardtanh", "act"},
                                                {"threshold", "act"},
                                                {"mul", "act"},
                                                {"div", "act"},
                                                {"add", "add"},
                                                {"sub", "add"}});

std::string_view kind_by_name(std::string_view op) {
  const std::string_view name = plain(op);
  if (name == "mm") return "linear";
  const auto* const rule = std::ranges::find_if(
      rules, [&](const KindRule& r) { return name.find(r.part) != std::string_view::npos; });
  return rule == rules.end() ? "other" : rule->kind;
}

const std::vector<std::int64_t>* input(const InputShapes& shapes, std::size_t place,
                                       std::size_t sides_min) {
  if (place >= shapes.size() || shapes[place].size() < sides_min) return nullptr;
  return &shapes[place];
}

/// Whether a tensor of a model can have this shape.
bool is_tensor(const std::vector<std::int64_t>& shape) {
  constexpr double elements_max = 1e12;
  double elements = 1;
  for (const std::int64_t side : shape) elements *= static_cast<double>(side);
  return elements >= 1 && elements <= elements_max;
}

/// Places of weight and bias among the inputs; never: its bias is never there.
struct Places {
  std::size_t weight = 0;
  std::size_t bias = 0;
  std::size_t weight_sides = 1;
};

constexpr std::size_t never = 1000;

Places places_of(std::string_view name) {
  if (kind_by_name(name) == "conv") return {1, 2, 3};
  if (name == "linear") return {1, 2, 2};
  if (name == "addmm") return {2, 0, 2};
  if (name.find("layer_norm") != std::string_view::npos) return {2, 3, 1};
  if (name.find("group_norm") != std::string_view::npos) return {2, 3, 1};
  if (name.find("rms_norm") != std::string_view::npos) return {2, never, 1};
  if (name.find("norm") != std::string_view::npos) return {1, 2, 1};
  if (name == "embedding") return {0, never, 2};
  return {never, never, 1};
}

}  // namespace

std::string_view name_of_operator(std::string_view op) {
  const std::size_t colons = op.rfind("::");
  if (colons != std::string_view::npos) op.remove_prefix(colons + 2);
  while (op.size() > 1 && op.ends_with('_')) op.remove_suffix(1);
  return op;
}

InputShapes read_shapes(std::string_view text) {
  InputShapes shapes;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '[') {
      if (++depth > 2) return {};
      if (depth == 2) shapes.emplace_back();
      ++i;
    } else if (c == ']') {
      if (--depth < 0) return {};
      ++i;
    } else if (c == ',' || c == ' ') {
      ++i;
    } else {
      std::int64_t side = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), side);
      if (error != std::errc{} || side < 0 || depth != 2) return {};
      shapes.back().push_back(side);
      i = static_cast<std::size_t>(end - text.data());
    }
  }
  return depth == 0 ? shapes : InputShapes{};
}

std::string kind_of_operator(std::string_view op, const InputShapes& shapes, bool& is_guess) {
  is_guess = false;
  const std::string_view kind = kind_by_name(op);
  if (kind != "conv") return std::string(kind);
  constexpr std::size_t weight_sides = 3;  // outputs, inputs of a group, then the kernel's
  const auto* data = input(shapes, 0, weight_sides);
  const auto* weight = input(shapes, 1, weight_sides);
  if (data == nullptr || weight == nullptr) {
    is_guess = true;
    return "conv3";
  }
  if ((*weight)[1] != (*data)[1]) return "grouped_conv";
  const std::int64_t side = *std::max_element(weight->begin() + 2, weight->end());
  if (side == 1) return "conv1";
  return side <= 3 ? "conv3" : "conv7";
}

std::vector<ParameterSpec> parameters_of_operator(std::string_view op, const InputShapes& shapes) {
  const Places places = places_of(plain(op));
  std::vector<ParameterSpec> parameters;
  const auto* weight = input(shapes, places.weight, places.weight_sides);
  if (weight != nullptr && is_tensor(*weight)) {
    parameters.push_back({"weight", *weight, {}});
    if (const auto* bias = input(shapes, places.bias, 1); bias != nullptr && is_tensor(*bias)) {
      parameters.push_back({"bias", *bias, {}});
    }
  }
  return parameters;
}

double flops_of_operator(std::string_view op, const InputShapes& shapes) {
  const std::string_view name = plain(op);
  const bool product = name == "linear" || name == "addmm";
  const std::size_t data_place = name == "addmm" ? 1 : 0;
  const auto* data = input(shapes, data_place, 1);
  const auto* weight = input(shapes, name == "addmm" ? 2 : 1, 2);
  if (!product || data == nullptr || weight == nullptr) return 0;
  double rows = 1;
  for (std::size_t i = 0; i + 1 < data->size(); ++i) rows *= static_cast<double>((*data)[i]);
  return 2 * rows * static_cast<double>((*weight)[0]) * static_cast<double>((*weight)[1]);
}

}  // namespace gradwire::calibration
