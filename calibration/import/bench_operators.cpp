#include "calibration/import/bench_operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "calibration/import/json_file.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::calibration {
namespace {

/// Medians on the host of an H200, microseconds an operator (results/reference/host_operators.csv,
/// PyTorch 2.11).
struct Reference {
  std::string_view name;
  std::string_view dtype;
  double forward;
  double backward;
};
constexpr std::array<Reference, 20> h200 = {{
    {"conv1x1", "fp32", 41.0, 43.6},
    {"conv1x1", "bf16", 39.2, 76.3},
    {"conv3x3", "fp32", 36.6, 50.7},
    {"conv3x3", "bf16", 58.3, 100.1},
    {"batch_norm", "fp32", 47.5, 44.7},
    {"batch_norm", "bf16", 64.7, 66.3},
    {"layer_norm", "fp32", 23.6, 40.2},
    {"layer_norm", "bf16", 25.4, 61.0},
    {"linear", "fp32", 48.0, 78.7},
    {"linear", "bf16", 67.2, 183.8},
    {"linear no bias", "fp32", 31.4, 71.5},
    {"linear no bias", "bf16", 49.5, 130.1},
    {"relu", "fp32", 20.6, 17.2},
    {"relu", "bf16", 14.7, 20.7},
    {"gelu", "fp32", 12.3, 18.4},
    {"gelu", "bf16", 16.3, 19.7},
    {"add", "fp32", 12.3, 18.2},
    {"add", "bf16", 13.1, 17.8},
    {"sdpa", "fp32", 49.7, 157.0},
    {"sdpa", "bf16", 69.1, 204.4},
}};
/// What nine networks in small batches ask for, over the chains' times: the geometric mean of 1.02
/// / 1 and 1.05 / 1.28 on two hosts (host_iterations.csv).
constexpr double iterations_over_chains = 0.914;

}  // namespace

HostSpeed read_bench_operators(const std::string& text, const std::string& file) {
  const config::YamlValue document = parse_json(text, file);
  config::YamlMap map(document);
  map.require_schema("gradwire.operator_times/1");
  HostSpeed speed;
  speed.gpu = map.require<std::string>("gpu");
  static_cast<void>(map.value_or<std::string>("torch", ""));
  double logarithms = 0;
  for (config::YamlMap& row : map.maps("rows")) {
    const auto name = row.require<std::string>("operator");
    const auto dtype = row.require<std::string>("dtype");
    const auto format = row.require<std::string>("memory_format");
    static_cast<void>(row.require<double>("forward_min_us", config::above(0.0)));
    static_cast<void>(row.require<double>("backward_min_us", config::above(0.0)));
    const auto forward = row.require<double>("forward_p50_us", config::above(0.0));
    const auto backward = row.require<double>("backward_p50_us", config::above(0.0));
    row.finish();
    const auto* const like = std::ranges::find_if(h200, [&](const Reference& reference) {
      return reference.name == name && reference.dtype == dtype && format == "contiguous";
    });
    if (like == h200.end()) continue;
    logarithms += std::log(forward / like->forward) + std::log(backward / like->backward);
    speed.operators += 2;
  }
  if (speed.operators == 0) {
    map.fail("rows",
             "no row is of an operator that the host of an H200 was timed with; expected "
             "conv1x1, linear or another of operators.py");
  }
  map.finish();
  speed.chain = std::exp(logarithms / speed.operators);
  speed.host_time = iterations_over_chains * speed.chain;
  return speed;
}

}  // namespace gradwire::calibration
