#include "calibration/import/kineto.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "calibration/import/compressed_file.hpp"
#include "calibration/import/decimal_time.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gradwire::calibration {
namespace {

/// A trace of one operator and its kernel, in the schema since PyTorch 1.10; `more` are further
/// events.
std::string small(const std::string& more = "") {
  return R"json({
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "Tesla V100-SXM2-32GB", "totalGlobalMem": 34079637504, "computeMajor": 7,
     "computeMinor": 0, "numSms": 80}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 9, "tid": 9, "ts": 1712195495519689.125,
   "dur": 63.813, "args": {"External id": 2049, "Sequence number": 18456, "Fwd thread id": 0,
   "Input Dims": [[8, 3, 4, 4], [6, 3, 3, 3], []]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
   "ts": 1712195495519690.125, "dur": 5, "args": {"External id": 2049, "correlation": 17}},
  {"ph": "X", "cat": "kernel", "name": "winograd<float, 4>(int)", "pid": 0, "tid": 7,
   "ts": 1712195495519790.5, "dur": 4.928, "args": {"device": 0, "stream": 7, "correlation": 17,
   "grid": [4, 106, 1]}},
  {"ph": "s", "id": 17, "pid": 9, "tid": 9, "ts": 1712195495519690.125, "cat": "ac2g", "name": "ac2g"},
  {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "python"}})json" +
         more + "]}\n";
}

TEST_CASE("Operators, calls and kernels are read to the nanosecond", "[calibration][kineto]") {
  const Trace trace = parse_kineto(small(), "t.json");
  REQUIRE(trace.ranges.size() == 1);
  const RangeRecord& range = trace.ranges[0];
  CHECK(trace.names[range.name] == "aten::conv2d");
  CHECK(range.start == 1712195495519689125);
  CHECK(range.end == range.start + 63813);
  CHECK(range.sequence == 18456);
  CHECK(range.external == 2049);
  CHECK(trace.names[range.shapes] == "[[8, 3, 4, 4], [6, 3, 3, 3], []]");
  REQUIRE(trace.calls.size() == 1);
  CHECK(trace.calls[0].correlation == 17);
  CHECK(trace.calls[0].thread == range.thread);
  REQUIRE(trace.device.size() == 1);
  CHECK(trace.device[0].end - trace.device[0].start == 4928);
  CHECK(trace.device[0].stream == 7);
  CHECK(trace.device[0].blocks == 424);
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].name == "Tesla V100-SXM2-32GB");
  CHECK(trace.devices[0].multiprocessors == 80);
  CHECK(trace.rank == 3);
  CHECK(trace.world_size == 8);
  CHECK(trace.missing ==
        std::vector<std::string>{"names of modules (with_stack=True or with_modules=True)",
                                 "sizes of NCCL's collectives"});
}

TEST_CASE("The schema of PyTorch 1.8.1 says the same", "[calibration][kineto]") {
  const Trace trace = parse_kineto(
      R"json({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "Operator", "name": "aten::relu_", "pid": 5, "tid": "5", "ts": 1000, "dur": 35,
   "args": {"Device": 5, "External id": 2, "Sequence number": 4, "Input Dims": [[2]]}},
  {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": "5", "ts": 1010,
   "dur": 5, "args": {"correlation": 7, "external id": 2}},
  {"ph": "X", "cat": "Kernel", "name": "relu", "pid": 0, "tid": "stream 7", "ts": 1040, "dur": 2,
   "args": {"device": 0, "stream": 7, "correlation": 7, "external id": 2}},
  {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0,
   "tid": "stream 7", "ts": 1050, "dur": 3, "args": {"stream": 7, "correlation": 8, "bytes": 64}},
  {"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7", "ts": 1060,
   "dur": 1, "args": {"stream": 7, "correlation": 9, "bytes": 8}}]})json",
      "old.json");
  REQUIRE(trace.ranges.size() == 1);
  CHECK(trace.ranges[0].sequence == 4);
  REQUIRE(trace.calls.size() == 1);
  CHECK(trace.calls[0].thread == trace.ranges[0].thread);
  REQUIRE(trace.device.size() == 3);
  CHECK(trace.device[1].copy == CopyKind::host_to_device);
  CHECK(trace.device[1].bytes == 64);
  CHECK(trace.device[2].kind == DeviceKind::memset);
  CHECK(trace.missing.front() == "properties of the GPU (deviceProperties)");
}

TEST_CASE("Payloads of NCCL's kernels are kept", "[calibration][kineto]") {
  const Trace trace = parse_kineto(small(R"json(,
  {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
   "ts": 1712195495519800, "dur": 2636.669, "args": {"stream": 40, "correlation": 60047,
   "grid": [8, 1, 1], "Collective name": "allreduce", "In msg nelems": 6637568, "Group size": 2,
   "dtype": "Float"}})json"),
                                   "t.json");
  REQUIRE(trace.collectives.size() == 1);
  CHECK(trace.names[trace.collectives[0].operation] == "allreduce");
  CHECK(trace.collectives[0].elements == 6637568);
  CHECK(trace.collectives[0].ranks == 2);
}

TEST_CASE("Frames of Python are passed over but for modules", "[calibration][kineto]") {
  const Trace trace = parse_kineto(small(R"json(,
  {"ph": "X", "cat": "python_function", "name": "train.py(12): main", "tid": 9, "ts": 1, "dur": 5},
  {"ph": "X", "cat": "python_function", "name": "nn.Module: Conv2d_0", "tid": 9, "ts": 2, "dur": 3})json"),
                                   "t.json");
  REQUIRE(trace.ranges.size() == 2);
  CHECK(trace.names[trace.ranges[1].name] == "nn.Module: Conv2d_0");
}

TEST_CASE("What is no trace is refused at its place", "[calibration][kineto]") {
  struct Bad {
    std::string text;
    std::string message;
  };
  const auto bad = GENERATE(values<Bad>(
      {{"", "t.json:1:1: "},
       {"[1, 2]", "t.json:1:1: no JSON object; expected a trace of PyTorch's profiler"},
       {"{\"a\": 1}", "t.json:1:1: no list 'traceEvents'"},
       {small(",\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"dur\": 1}"),
        "t.json:18:3: no time 'ts' (microseconds) of event 'k'"},
       {small(",\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1}"),
        "t.json:18:3: no duration 'dur' (microseconds) of event 'k'"},
       {small(",\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"k\", \"ts\": 1, \"dur\": -2}"),
        "t.json:18:3: negative duration 'dur' of event 'k'"},
       {small(
            ",\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"k\", \"ts\": 1e30, \"dur\": 2}"),
        "t.json:18:3: no time 'ts'"},
       {small(
            ",\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"k\", \"ts\": 1, \"dur\": 1e15}"),
        "t.json:18:3: more than 3 hours in 'dur'"}}));
  CAPTURE(bad.text);
  CHECK_THROWS_WITH(parse_kineto(bad.text, "t.json"), Catch::StartsWith(bad.message));
}

TEST_CASE("Times beyond a double's digits are exact, others are refused", "[calibration][kineto]") {
  CHECK(nanoseconds_of("1712195495519689.125") == 1712195495519689125);
  CHECK(nanoseconds_of("0.0019") == 1);
  CHECK(nanoseconds_of("-0.5") == -500);
  CHECK(nanoseconds_of("12") == 12000);
  CHECK(nanoseconds_of("1.5e3") == 1500000);
  CHECK_FALSE(nanoseconds_of(""));
  CHECK_FALSE(nanoseconds_of("."));
  CHECK_FALSE(nanoseconds_of("12x"));
  CHECK_FALSE(nanoseconds_of("99999999999999999999"));
  CHECK_FALSE(nanoseconds_of("1e400"));
}

TEST_CASE("A compressed trace is read as a plain one, and a cut one is refused",
          "[calibration][kineto]") {
  const gradwire::test::ScratchFolder folder;
  const std::string file = folder.path() / "t.json.gz";
  const std::string text = small();
  const gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  CHECK(read_compressed(file, "a trace") == text);
  CHECK(read_kineto(file).device.size() == 1);
  const auto length = std::filesystem::file_size(file);
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-8, std::ios::end);  // RFC 1952: the sum of the text, then its length
    bytes.put('x').put('x').put('x').put('x');
  }
  CHECK_THROWS_WITH(read_kineto(file),
                    Catch::StartsWith(file + ": the compressed data are damaged at byte "));
  std::filesystem::resize_file(file, length / 2);
  CHECK_THROWS_WITH(read_kineto(file), Catch::StartsWith(fmt::format(
                                           "{}: the compressed data break off at byte {}; expected",
                                           file, length / 2)));
  CHECK_THROWS_WITH(read_kineto(file + "x"),
                    Catch::ContainsSubstring("cannot be read; expected a trace of PyTorch's"));
}

TEST_CASE("Damaged traces are refused or read, never more", "[calibration][kineto][fuzz]") {
  // Bytes changed, cut out and doubled by a fixed generator; 3000 texts in under a second.
  const std::string good = small(
      ",{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"tid\": 9, "
      "\"ts\": 1712195495519000, \"dur\": 9000}");
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::string letters = "{}[]\",:0123456789.-eE\\nul tX\x01\xff";
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::size_t change = 0; change <= below(4); ++change) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0:
          text[at] = letters[below(letters.size())];
          break;
        case 1:
          text.erase(at, below(40));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
      }
      if (text.empty()) text = " ";
    }
    try {
      const Trace trace = parse_kineto(text, "fuzz.json");
      ++read;
      static_cast<void>(attribute(trace));
    } catch (const ConfigError&) {
      continue;
    }
  }
  CHECK(read > 100);
}

TEST_CASE("Deep nesting is refused without a deep stack", "[calibration][kineto][fuzz]") {
  const std::string deep(200'000, '[');
  CHECK_THROWS_AS(parse_kineto("{\"a\": " + deep + ", \"traceEvents\": []}", "deep.json"),
                  ConfigError);
  CHECK_THROWS_AS(parse_kineto("{\"traceEvents\": " + deep, "deep.json"), ConfigError);
}

}  // namespace
}  // namespace gradwire::calibration
