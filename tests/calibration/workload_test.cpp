#include "calibration/import/workload.hpp"

#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

const std::string good = R"json({
 "schema": "gradwire.workload/1", "model": "resnet50", "gpu": "NVIDIA H200", "batch_per_gpu": 32,
 "dtype": "tf32", "optimizer": "momentum", "framework": "pytorch", "torch": "2.11.0", "warmup": 10,
 "image_size": 224,
 "parameters": [{"name": "conv1.weight", "shape": [64, 3, 7, 7], "dtype": "float32"},
                {"name": "scale", "shape": [], "dtype": "float32", "shared": true}],
 "buffers": {"tensors": 159, "elements": 53173, "bytes": 212904}})json";

TEST_CASE("A workload is read with what else shaped it", "[calibration][workload]") {
  const Workload workload = parse_workload(good, "w.json");
  CHECK(workload.model == "resnet50");
  CHECK(workload.gpu == "NVIDIA H200");
  CHECK(workload.batch_per_gpu == 32);
  CHECK(workload.framework == "pytorch 2.11.0");
  REQUIRE(workload.parameters.size() == 2);
  CHECK(workload.parameters[0].shape == std::vector<std::int64_t>{64, 3, 7, 7});
  CHECK(workload.parameters[1].elements() == 1);
  CHECK(workload.parameters[1].shared);
  CHECK_FALSE(workload.parameters[0].shared);
  CHECK(workload.buffers == 159);
  CHECK(workload.buffer_elements == 53173);
  CHECK(workload.buffer_bytes == Bytes{212904});
  CHECK(workload.facts.at("image_size") == "224");
  CHECK(workload.facts.at("warmup") == "10");
}

TEST_CASE("A damaged workload is refused at its place", "[calibration][workload]") {
  struct Bad {
    std::string from;
    std::string to;
    std::string message;
  };
  const auto bad = GENERATE(values<Bad>(
      {{"workload/1", "workload/9",
        "2:12: 'schema' is 'gradwire.workload/9'; expected gradwire.workload/1"},
       {"\"model\":", "\"modell\":",
        "2:35: missing key 'model'; expected text; is 'modell' a misspelling of it?"},
       {"\"batch_per_gpu\": 32", "\"batch_per_gpu\": -1",
        "2:95: 'batch_per_gpu' is '-1'; expected a whole number, at least 0"},
       {"[64, 3, 7, 7]", "[64, 0]", "5:56: 'shape' is '0'; expected a whole number, at least 1"},
       {"[64, 3, 7, 7]", "[1000000000, 1000000000]", "5:51: too many elements; expected at most"},
       {"[64, 3, 7, 7]", "7", "5:51: 'shape' is '7'; expected a list"},
       {"\"name\": \"scale\"", "\"nam\": 3", "6:18: missing key 'name'"},
       {"\"shape\": []", "\"shape\": [], \"shap\": 3", "6:48: unknown key 'shap'; expected one of"},
       {"\"elements\"", "\"element\"", "7:30: missing key 'elements'"},
       {"\"image_size\": 224", "\"image_size\": [224]", "4:16: 'image_size' is a list; expected"},
       {"\"parameters\"", "\"params\"", "1:1: 'parameters' is empty; expected at least one"},
       {"\"elements\": 53173", "\"elements\": 158",
        "7:42: 'elements' is '158'; expected a whole number, at least 159"},
       {"\"bytes\": 212904", "\"bytes\": 53172",
        "7:58: 'bytes' is '53172'; expected a whole number, at least 53173"},
       {"\"bytes\": 212904}}", "\"bytes\": 212904",
        "7:13: YAML syntax: a mapping in braces is not closed"}}));
  std::string text = good;
  text.replace(text.find(bad.from), bad.from.size(), bad.to);
  CAPTURE(text);
  CHECK_THROWS_WITH(parse_workload(text, "w.json"), Catch::StartsWith("w.json:" + bad.message));
}

TEST_CASE("Times of iterations are nanoseconds above 0", "[calibration][workload]") {
  const std::string head = R"json({"schema": "gradwire.iterations/1", "clock": "host", )json";
  const auto times = parse_iteration_times(head + "\"iteration_ns\": [1000000, 1.5e6]}", "u.json");
  REQUIRE(times.size() == 2);
  CHECK(times[0] / Seconds{1e-3} == Approx(1));
  CHECK(times[1] / Seconds{1.5e-3} == Approx(1));
  CHECK_THROWS_WITH(
      parse_iteration_times(head + "\"iteration_ns\": [0]}", "u.json"),
      Catch::StartsWith("u.json:1:71: 'iteration_ns' is '0'; expected a number, above 0"));
  CHECK_THROWS_AS(parse_iteration_times("{", "u.json"), ConfigError);
  CHECK_THROWS_WITH(
      parse_iteration_times(head + "\"iteration_ns\": [1], \"iterations\": 1}", "u.json"),
      Catch::ContainsSubstring("unknown key 'iterations'; expected one of schema"));
}

}  // namespace
}  // namespace gradwire::calibration
