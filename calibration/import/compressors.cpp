#include "calibration/import/compressors.hpp"

#include <fmt/format.h>

#include "calibration/import/json_file.hpp"
#include "calibration/import/timed_calls.hpp"
#include "sim/core/error.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::calibration {
namespace {

using config::YamlMap;
using config::YamlValue;

Seconds read_time(YamlMap& row, const char* key) {
  YamlMap map = row.require_map(key);
  const TimedCalls calls = read_timed_calls(map);
  if (!calls.pipelined) map.fail("pipelined_us", "there is no 'pipelined_us'; expected it");
  map.finish();
  return *calls.pipelined;
}

CompressorSeries read_compressor_series(YamlMap& map) {
  static const std::vector<std::string> names = {
      "fp16",    "bf16", "signsgd", "ef_signsgd", "qsgd",    "dithering",  "topk",
      "ef_topk", "dgc",  "randomk", "powersgd",   "acp_sgd", "onebit_adam"};
  CompressorSeries series;
  series.compressor = map.require_choice("compressor", names);
  series.settings = map.value_or<std::string>("settings", "");
  std::int64_t least = 1;
  for (YamlMap& row : map.maps("rows")) {
    CompressorTimes times;
    times.elements = row.require<std::int64_t>("elements", config::at_least<std::int64_t>(least));
    least = times.elements + 1;
    times.encode = read_time(row, "encode");
    times.decode = read_time(row, "decode");
    row.finish();
    series.rows.push_back(times);
  }
  if (series.rows.empty()) map.fail("rows", "there is no row; expected at least one in 'rows'");
  map.finish();
  return series;
}

/// A text in double quotes, which YAML reads as it stands.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

}  // namespace

CompressorBench read_bench_compressors(const std::string& text, const std::string& file) {
  static const std::vector<std::string> devices = {"gpu", "cpu"};
  static const std::vector<std::string> implementations = {"kernels", "torch"};
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.bench.compressors/1");
  CompressorBench bench;
  bench.tool = map.require<std::string>("tool");
  bench.date = map.value_or<std::string>("date", "");
  bench.node = map.value_or<std::string>("node", "");
  bench.gpu = map.value_or<std::string>("gpu", "");
  bench.on_gpu = map.require_choice("device", devices) == "gpu";
  bench.implementation = map.require_choice("implementation", implementations);
  bench.memory_bandwidth =
      BytesPerSecond{map.value_or("memory_bandwidth_bytes_per_s", 0.0, config::above(0.0))};
  for (YamlMap& entry : map.maps("tables")) bench.series.push_back(read_compressor_series(entry));
  if (bench.series.empty()) {
    map.fail("tables", "there is no table; expected at least one in 'tables'");
  }
  map.finish();
  return bench;
}

std::string write_compressor_costs(const CompressorBench& bench, BytesPerSecond bandwidth) {
  if (bench.memory_bandwidth > BytesPerSecond{}) bandwidth = bench.memory_bandwidth;
  if (bench.on_gpu && !(bandwidth > BytesPerSecond{})) {
    throw SimulationError("no file states the memory bandwidth of '" + bench.gpu +
                          "'; expected it in the record or beside it");
  }
  std::string text = plain_format(
      "# Recorded by {} on {}, {}; {}.\nschema: gradwire.compressor_costs/1\ntables:\n", bench.tool,
      bench.node, bench.date,
      bench.implementation == "torch" ? "PyTorch's operations" : "our own kernels");
  for (const CompressorSeries& series : bench.series) {
    text += fmt::format("  - compressor: {}\n    device: {}\n", series.compressor,
                        bench.on_gpu ? "gpu" : "cpu");
    if (bench.on_gpu) {
      text += fmt::format("    gpu: {}\n    memory_bandwidth: {:.7g} GB/s\n", quoted(bench.gpu),
                          bandwidth.count() * 1e-9);
    }
    text += fmt::format("    source: {}\n    below: constant\n    rows:\n",
                        quoted(fmt::format("recorded by {}, {}{}{}", bench.tool, bench.date,
                                           series.settings.empty() ? "" : ", ", series.settings)));
    for (const CompressorTimes& row : series.rows) {
      text += fmt::format("      - {{elements: {}, encode: {:.5g} us, decode: {:.5g} us}}\n",
                          row.elements, row.encode.count() * 1e6, row.decode.count() * 1e6);
    }
  }
  return text;
}

}  // namespace gradwire::calibration
