#include "calibration/import/workload.hpp"

#include <fmt/format.h>

#include "calibration/import/compressed_file.hpp"
#include "calibration/import/json_document.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

constexpr double elements_max = 1e15;
constexpr std::int64_t element_size_max = 16;  // complex128

ParameterSpec parameter_of(const JsonValue& value) {
  JsonMap map(value, "an entry of 'parameters'");
  ParameterSpec parameter;
  parameter.name = map.require_text("name");
  static_cast<void>(map.text_or("dtype", ""));  // for readers; the workload's own counts
  double elements = 1;
  for (const JsonValue& side : map.require("shape", JsonValue::Kind::list).items) {
    if (!side.whole || *side.whole < 1) {
      throw ConfigError(side.where, "a side of 'shape' is none; expected a whole number from 1 on");
    }
    parameter.shape.push_back(*side.whole);
    elements *= side.number;
  }
  if (elements > elements_max) map.fail("shape", "too many elements; expected at most 1e15");
  if (parameter.shape.empty()) parameter.shape.push_back(1);  // a scalar
  if (map.find("shared") != nullptr) {
    parameter.shared = map.require("shared", JsonValue::Kind::boolean).yes;
  }
  map.finish();
  return parameter;
}

/// A number, a word or a yes, as it is written.
std::string fact_text(const JsonValue& value, const std::string& key) {
  switch (value.kind) {
    case JsonValue::Kind::text:
      return value.text;
    case JsonValue::Kind::boolean:
      return value.yes ? "true" : "false";
    case JsonValue::Kind::number:
      return value.whole ? fmt::format("{}", *value.whole) : fmt::format("{}", value.number);
    case JsonValue::Kind::null:
    case JsonValue::Kind::list:
    case JsonValue::Kind::object:
      break;
  }
  throw ConfigError(value.where, fmt::format("the fact '{}' is no single value; expected a text, a "
                                             "number, true or false",
                                             key));
}

}  // namespace

Workload parse_workload(const std::string& text, const std::string& file) {
  const JsonValue document = parse_json(text, file);
  JsonMap map(document);
  map.require_schema("gradwire.workload/1");
  Workload workload;
  workload.model = map.require_text("model");
  workload.gpu = map.require_text("gpu");
  workload.dtype = map.require_text("dtype");
  workload.optimizer = map.text_or("optimizer", "");
  workload.framework = map.text_or("framework", "");
  if (const std::string release = map.text_or("torch", ""); !release.empty()) {
    workload.framework += " " + release;
  }
  workload.batch_per_gpu = map.count_or("batch_per_gpu", 0, 0);
  if (map.find("buffers") != nullptr) {
    JsonMap buffers(map.require("buffers", JsonValue::Kind::object), "'buffers'");
    workload.buffers = buffers.count_or("tensors", 0, 0);
    workload.buffer_elements = buffers.require_whole("elements", workload.buffers,
                                                     static_cast<std::int64_t>(elements_max));
    workload.buffer_bytes = Bytes{buffers.whole_or("bytes", 0, workload.buffer_elements,
                                                   element_size_max * workload.buffer_elements)};
    buffers.finish();
  }
  double elements = 0;
  for (const JsonValue& entry : map.require("parameters", JsonValue::Kind::list).items) {
    workload.parameters.push_back(parameter_of(entry));
    elements += static_cast<double>(workload.parameters.back().elements());
    if (elements > elements_max) {
      throw ConfigError(entry.where, "too many elements in all; expected at most 1e15");
    }
  }
  if (workload.parameters.empty()) {
    map.fail("parameters", "'parameters' is empty; expected at least one");
  }
  for (const std::string& key : map.other_keys()) {
    if (const JsonValue* value = map.find(key)) workload.facts[key] = fact_text(*value, key);
  }
  return workload;
}

Workload read_workload(const std::string& file) {
  return parse_workload(read_compressed(file, "what a recording ran (workload.json)"), file);
}

std::vector<Seconds> parse_iteration_times(const std::string& text, const std::string& file) {
  constexpr double nanosecond = 1e-9;
  constexpr double longest = 1e15;  // eleven days
  const JsonValue document = parse_json(text, file);
  JsonMap map(document);
  map.require_schema("gradwire.iterations/1");
  static_cast<void>(map.text_or("clock", ""));  // for readers
  std::vector<Seconds> times;
  for (const JsonValue& item : map.require("iteration_ns", JsonValue::Kind::list).items) {
    if (item.kind != JsonValue::Kind::number || !(item.number > 0) || item.number > longest) {
      throw ConfigError(item.where, fmt::format("iteration_ns[{}] is none; expected nanoseconds "
                                                "above 0, at most 1e15",
                                                times.size()));
    }
    times.emplace_back(nanosecond * item.number);
  }
  map.finish();
  return times;
}

std::vector<Seconds> read_iteration_times(const std::string& file) {
  return parse_iteration_times(read_compressed(file, "times of iterations (uninstrumented.json)"),
                               file);
}

}  // namespace gradwire::calibration
