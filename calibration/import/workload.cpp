#include "calibration/import/workload.hpp"

#include <functional>
#include <set>
#include <vector>

#include "calibration/import/compressed_file.hpp"
#include "calibration/import/json_file.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

using config::YamlMap;
using config::YamlValue;

constexpr std::int64_t tensor_elements_max = 1'000'000'000'000'000;
constexpr std::int64_t element_size_max = 16;  // complex128

ParameterSpec parameter_of(YamlMap& map) {
  ParameterSpec parameter;
  parameter.name = map.require<std::string>("name");
  static_cast<void>(
      map.value_or<std::string>("dtype", ""));  // for readers; the workload's own counts
  double elements = 1;
  map.require_value("shape", "a list, each item a whole number");
  parameter.shape = map.list<std::int64_t>("shape", config::at_least<std::int64_t>(1));
  for (const std::int64_t side : parameter.shape) elements *= static_cast<double>(side);
  if (elements > static_cast<double>(tensor_elements_max))
    map.fail("shape", "too many elements; expected at most 1e15");
  if (parameter.shape.empty()) parameter.shape.push_back(1);  // a scalar
  parameter.shared = map.value_or("shared", parameter.shared);
  map.finish();
  return parameter;
}

}  // namespace

Workload parse_workload(const std::string& text, const std::string& file) {
  // What is none of these is a fact for readers.
  static const std::set<std::string, std::less<>> known = {
      "schema",    "model", "gpu",           "dtype",   "optimizer",
      "framework", "torch", "batch_per_gpu", "buffers", "parameters"};
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.workload/1");
  Workload workload;
  workload.model = map.require<std::string>("model");
  workload.gpu = map.require<std::string>("gpu");
  workload.dtype = map.require<std::string>("dtype");
  workload.optimizer = map.value_or<std::string>("optimizer", "");
  workload.framework = map.value_or<std::string>("framework", "");
  if (const auto release = map.value_or<std::string>("torch", ""); !release.empty()) {
    workload.framework += " " + release;
  }
  workload.batch_per_gpu = map.value_or("batch_per_gpu", 0, config::at_least(0));
  if (auto buffers = map.optional_map("buffers")) {
    workload.buffers = buffers->value_or("tensors", 0, config::at_least(0));
    workload.buffer_elements = buffers->require<std::int64_t>(
        "elements", config::between<std::int64_t>(workload.buffers, tensor_elements_max));
    const std::int64_t least = workload.buffer_elements;
    workload.buffer_bytes = Bytes{buffers->value_or<std::int64_t>(
        "bytes", 0, config::between(least, element_size_max * least))};
    buffers->finish();
  }
  double elements = 0;
  for (YamlMap& entry : map.maps("parameters")) {
    workload.parameters.push_back(parameter_of(entry));
    elements += static_cast<double>(workload.parameters.back().elements());
    if (elements > static_cast<double>(tensor_elements_max)) {
      throw ConfigError(entry.where(), "too many elements in all; expected at most 1e15");
    }
  }
  if (workload.parameters.empty()) {
    map.fail("parameters", "'parameters' is empty; expected at least one");
  }
  for (const std::string& key : map.keys()) {
    if (!known.contains(key)) workload.facts[key] = map.require<std::string>(key);
  }
  return workload;
}

Workload read_workload(const std::string& file) {
  return parse_workload(read_compressed(file, "what a recording ran (workload.json)"), file);
}

std::vector<Seconds> parse_iteration_times(const std::string& text, const std::string& file) {
  constexpr double nanosecond = 1e-9;
  constexpr double longest = 1e15;  // eleven days
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.iterations/1");
  static_cast<void>(map.value_or<std::string>("clock", ""));  // for readers
  std::vector<Seconds> times;
  map.require_value("iteration_ns", "a list, each item a number");
  for (const double time :
       map.list<double>("iteration_ns", {.above = 0, .least = {}, .most = longest})) {
    times.emplace_back(nanosecond * time);
  }
  map.finish();
  return times;
}

std::vector<Seconds> read_iteration_times(const std::string& file) {
  return parse_iteration_times(read_compressed(file, "times of iterations (uninstrumented.json)"),
                               file);
}

}  // namespace gradwire::calibration
