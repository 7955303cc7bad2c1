#include "calibration/import/execution_trace.hpp"

#include <string>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/trace_index.hpp"
#include "calibration/import/kineto.hpp"
#include "sim/core/error.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::calibration {
namespace {

std::string published(const std::string& name) {
  return gradwire::test::shared("data/traces/" + name).string();
}

TEST_CASE("An execution trace gives operators, their nesting and shapes, and no times",
          "[calibration][execution_trace]") {
  // Written in the order of ends, as PyTorch does; rf_id is the order of begins.
  const Trace trace = parse_execution_trace(
      R"json({"schema": "1.0.1", "nodes": [
  {"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "rf_id": 0, "parent": 1, "tid": 1},
  {"id": 11, "name": "aten::convolution", "rf_id": 6, "parent": 10, "seq_id": 4, "tid": 1,
   "input_shapes": [[8, 3, 4, 4], [6, 3, 3, 3], [], [[], []]]},
  {"id": 10, "name": "aten::conv2d", "rf_id": 5, "parent": 2, "seq_id": 4, "tid": 1,
   "input_shapes": [[8, 3, 4, 4], [6, 3, 3, 3], [6]]},
  {"id": 12, "name": "aten::relu", "rf_id": 7, "parent": 2, "seq_id": -1, "tid": 1}]})json",
      "et.json");
  REQUIRE(trace.ranges.size() == 4);
  const RangeRecord& conv = trace.ranges[1];
  const RangeRecord& inner = trace.ranges[2];
  const RangeRecord& relu = trace.ranges[3];
  CHECK(trace.names[conv.name] == "aten::conv2d");
  CHECK(trace.names[conv.shapes] == "[[8, 3, 4, 4], [6, 3, 3, 3], [6]]");
  CHECK(trace.names[inner.shapes] == "[[8, 3, 4, 4], [6, 3, 3, 3], [], []]");
  CHECK(conv.sequence == 4);
  CHECK(relu.sequence == no_sequence);
  CHECK(conv.start < inner.start);
  CHECK(inner.end < conv.end);
  CHECK(conv.end < relu.start);
  CHECK(trace.missing.front() == "times (PyTorch writes them into the profiler's trace)");
}

TEST_CASE("A trace linked by Chakra has times, kernels and the operators that launched them",
          "[calibration][execution_trace]") {
  const Trace trace = parse_execution_trace(
      R"json({"schema": "1.1.0-chakra.0.0.4", "nodes": [
  {"id": 10, "name": "aten::relu", "ctrl_deps": 2, "ts": 100.5, "inclusive_dur": 20,
   "inputs": {"values": [], "shapes": [[8, 3]], "types": []},
   "attrs": [{"name": "rf_id", "type": "uint64", "value": 5},
             {"name": "seq_id", "type": "int64", "value": 77},
             {"name": "tid", "type": "uint64", "value": 3}]},
  {"id": 900, "name": "relu_kernel", "ctrl_deps": 10, "cat": "kernel", "ts": 130, "inclusive_dur": 7.25,
   "stream": 7, "inputs": {"values": [], "shapes": [], "types": []}, "attrs": []}]})json",
      "linked.json");
  REQUIRE(trace.ranges.size() == 1);
  CHECK(trace.ranges[0].start == 100500);
  CHECK(trace.ranges[0].end == 120500);
  CHECK(trace.ranges[0].sequence == 77);
  CHECK(trace.ranges[0].thread == 3);
  REQUIRE(trace.device.size() == 1);
  CHECK(trace.device[0].end - trace.device[0].start == 7250);
  const TraceIndex index(trace);
  CHECK(index.launch(0).known);
  CHECK(index.launch(0).range == 0);
}

TEST_CASE("Microseconds with decimals become the nearest nanosecond",
          "[calibration][execution_trace]") {
  // 1000 x 1.001 is a little less than 1001 in floating point.
  const Trace trace = parse_execution_trace(
      R"json({"nodes": [{"id": 1, "name": "k", "cat": "kernel", "ts": 2.001,
                         "inclusive_dur": 1.001}]})json",
      "et.json");
  REQUIRE(trace.device.size() == 1);
  CHECK(trace.device[0].start == 2001);
  CHECK(trace.device[0].end == 2001 + 1001);
}

TEST_CASE("What is no execution trace is refused", "[calibration][execution_trace]") {
  struct Bad {
    std::string text;
    std::string place;
  };
  const auto bad = GENERATE(values<Bad>(
      {{"", "1:1"},
       {"{", "2:1"},
       {"{\n \"nodes\": [{]}", "2:13"},
       {"[]", "1:1"},
       {R"({"a": 1})", "1:1"},
       {R"({"nodes": []})", "1:1"},
       {"{\"nodes\": [{\"id\": 1, \"name\": \"a\"},\n  {\"id\": 1}]}", "2:3"},
       {R"({"nodes": [{"id": -1, "name": "x"}]})", "1:12"},
       {R"({"nodes": [{"id": 1, "name": "k", "cat": "kernel", "ts": 1e30, "inclusive_dur": 1}]})",
        "1:12"},
       {R"({"nodes": [{"id": 1, "name": "k", "cat": "kernel", "ts": 1, "inclusive_dur": -1}]})",
        "1:12"}}));
  CAPTURE(bad.text);
  CHECK_THROWS_WITH(
      parse_execution_trace(bad.text, "et.json"),
      Catch::StartsWith("et.json:" + bad.place + ": ") && Catch::ContainsSubstring("; expected "));
}

TEST_CASE("An execution trace gives a timed trace its shapes", "[calibration][execution_trace]") {
  test::ToyOptions options;
  options.shapes = true;
  const Trace shapes = test::toy_trace(1, options);
  Trace timed = test::toy_trace(3);
  CHECK(complete_from(timed, shapes) == 3 * 8);  // a step has 8 operators
  const Attribution attribution = attribute(timed);
  CHECK(attribution.layers[0].kind == "conv3");
  Trace other;
  other.file = "other.json";
  other.ranges.push_back({});
  other.ranges[0].name = other.names.id("aten::embedding");
  CHECK_THROWS_WITH(complete_from(timed, other),
                    Catch::StartsWith("other.json: none of its operators are in 'made-up'"));
}

TEST_CASE("The VGG-13 execution trace completes its profiler's trace", "[calibration][published]") {
  const std::string graph = published("triosim_graph_vgg13-iter41.json");
  const std::string times = published("triosim_profiler_vgg13-iter41.json");
  if (gradwire::test::skipped_without(graph) || gradwire::test::skipped_without(times)) return;
  Trace timed = read_kineto(times);
  const Trace execution = read_execution_trace(graph);
  for (RangeRecord& range : timed.ranges) range.shapes = no_name;
  CHECK(complete_from(timed, execution) == 742);  // aten:: operators of both
  const Attribution attribution = attribute(timed);
  std::int64_t parameters = 0;
  for (const AttributedLayer& layer : attribution.layers) {
    for (const ParameterSpec& parameter : layer.parameters) parameters += parameter.elements();
  }
  CHECK(parameters == 133'047'848);  // torchvision's vgg13
}

TEST_CASE("A small execution trace of PyTorch is read whole", "[calibration][published]") {
  const std::string file = published("hta_execution_trace_benchmark_simple_add_et.json.gz");
  if (gradwire::test::skipped_without(file)) return;
  CHECK(read_execution_trace(file).ranges.size() == 38);
}

}  // namespace
}  // namespace gradwire::calibration
