#include "calibration/import/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibration/import/compressed_file.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

using Json = nlohmann::json;

/// A JSON object of a file of ours.
class Document {
 public:
  Document(const std::string& text, const std::string& file, const char* schema) : file_(file) {
    try {
      json_ = Json::parse(text);
    } catch (const Json::parse_error& error) {
      fail(fmt::format("no JSON ({})", error.what()), schema);
    }
    const auto found = json_.find("schema");
    if (!json_.is_object() || found == json_.end() || *found != schema) {
      fail("another schema or none", schema);
    }
  }

  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    throw ConfigError({file_, 0, 0}, fmt::format("{}; expected {}", what, expected));
  }

  [[nodiscard]] const Json& json() const { return json_; }

  [[nodiscard]] std::string text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) {
      fail(fmt::format("no '{}'", key), "a text");
    }
    return found->get<std::string>();
  }
  [[nodiscard]] std::string text_or_empty(const char* key) const {
    return json_.contains(key) ? text(key) : "";
  }

  /// A whole number from 0 on; 0 where there is none.
  [[nodiscard]] std::int64_t count(const Json& object, const char* key, std::int64_t most) const {
    const auto found = object.find(key);
    if (found == object.end()) return 0;
    if (!found->is_number_integer() || *found < 0 || *found > most) {
      fail(fmt::format("'{}' is {}", key, found->dump()), fmt::format("0 to {}", most));
    }
    return found->get<std::int64_t>();
  }

 private:
  std::string file_;
  Json json_;
};

constexpr std::int64_t count_max = 1'000'000'000;
constexpr std::int64_t elements_max = 1'000'000'000'000'000;

ParameterSpec parameter_of(const Document& document, const Json& json, std::size_t index) {
  const auto fail = [&](const char* what, const char* expected) {
    document.fail(fmt::format("parameters[{}]: {}", index, what), expected);
  };
  ParameterSpec parameter;
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) {
    fail("no 'name'", "a text");
  }
  parameter.name = json["name"].get<std::string>();
  const auto shape = json.find("shape");
  if (shape == json.end() || !shape->is_array()) fail("no 'shape'", "a list of whole numbers");
  double elements = 1;
  for (const Json& side : *shape) {
    if (!side.is_number_integer() || side < 1 || side > elements_max) {
      fail("a side of 'shape' is none", "whole numbers from 1 on");
    }
    parameter.shape.push_back(side.get<std::int64_t>());
    elements *= side.get<double>();
  }
  if (elements > static_cast<double>(elements_max)) fail("too many elements", "at most 1e15");
  if (parameter.shape.empty()) parameter.shape.push_back(1);  // a scalar
  return parameter;
}

}  // namespace

Workload parse_workload(const std::string& text, const std::string& file) {
  const Document document(text, file, "gradwire.workload/1");
  const Json& json = document.json();
  Workload workload;
  workload.model = document.text("model");
  workload.gpu = document.text("gpu");
  workload.dtype = document.text("dtype");
  workload.optimizer = document.text_or_empty("optimizer");
  workload.framework = document.text_or_empty("framework");
  if (json.contains("torch")) workload.framework += " " + document.text("torch");
  workload.batch_per_gpu = static_cast<int>(document.count(json, "batch_per_gpu", count_max));
  if (const auto buffers = json.find("buffers"); buffers != json.end()) {
    if (!buffers->is_object()) document.fail("'buffers' is no object", "tensors and elements");
    workload.buffers = static_cast<int>(document.count(*buffers, "tensors", count_max));
    workload.buffer_elements = document.count(*buffers, "elements", elements_max);
  }
  const auto parameters = json.find("parameters");
  if (parameters == json.end() || !parameters->is_array() || parameters->empty()) {
    document.fail("no 'parameters'", "a list of at least one");
  }
  for (std::size_t i = 0; i < parameters->size(); ++i) {
    workload.parameters.push_back(parameter_of(document, (*parameters)[i], i));
  }
  static constexpr std::array<std::string_view, 10> known = {
      "schema",    "model", "gpu",           "dtype",   "optimizer",
      "framework", "torch", "batch_per_gpu", "buffers", "parameters"};
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, std::string_view(key)) != known.end()) continue;
    workload.facts[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return workload;
}

Workload read_workload(const std::string& file) {
  return parse_workload(read_compressed(file, "what a recording ran (workload.json)"), file);
}

std::vector<Seconds> parse_iteration_times(const std::string& text, const std::string& file) {
  const Document document(text, file, "gradwire.iterations/1");
  const auto list = document.json().find("iteration_ns");
  if (list == document.json().end() || !list->is_array()) {
    document.fail("no 'iteration_ns'", "a list of nanoseconds");
  }
  std::vector<Seconds> times;
  for (const Json& item : *list) {
    constexpr double nanosecond = 1e-9;
    constexpr double longest = 1e15;  // eleven days
    if (!item.is_number() || !(item.get<double>() > 0) || item.get<double>() > longest) {
      document.fail(fmt::format("iteration_ns[{}] is {}", times.size(), item.dump()),
                    "nanoseconds above 0, at most 1e15");
    }
    times.emplace_back(nanosecond * item.get<double>());
  }
  return times;
}

std::vector<Seconds> read_iteration_times(const std::string& file) {
  return parse_iteration_times(read_compressed(file, "times of iterations (uninstrumented.json)"),
                               file);
}

}  // namespace gradwire::calibration
