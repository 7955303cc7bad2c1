// Files that broke the program once, or would take a machine's memory or time: each is refused by
// what is wrong with it, or by the budget that it exceeds (docs/input_budgets.md).

#include <fmt/format.h>
#include <zlib.h>

#include <string>

#include "tests/calibration/made_up_node.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sanitized.hpp"

namespace gradwire {
namespace {

/// An input below 1 MB ends within 2 s and 256 MB; address space is more than memory, a machine at
/// work is slower, and a sanitizer takes address space without end.
constexpr const char* bounded = sanitized ? "timeout 60" : "ulimit -v 700000 && timeout 10";

std::string gzipped(const std::string& text, const std::filesystem::path& file) {
  gzFile const out = gzopen(file.c_str(), "wb9");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  return file.filename().string();
}

/// Refused as bad input, with this in its message.
void check_refused(const Workplace& place, const std::string& arguments, const std::string& why) {
  const auto run = place.run(arguments, bounded);
  INFO(arguments << "\n" << run.err.substr(0, 2000));
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Catch::ContainsSubstring(why));
  CHECK(run.err.size() < 10'000);
  for (const char* foreign : {"json.exception", "std::", "libyaml", "basic_string", "boost"}) {
    CHECK(run.err.find(foreign) == std::string::npos);
  }
}

}  // namespace

TEST_CASE("a torn log of NCCL, whose protocols are no multiple of its algorithms, is refused",
          "[cli][hostile]") {
  const Workplace place("torn_log");
  place.write("nccl.log",
              " Algorithm | Tree | Ring | CollNetDirect |\n Protocol | LL | LL128 | Simple | LL |\n"
              " AllReduce | 1.0/ 2.0 | 1.0/ 2.0 | 1.0/ 2.0 | 1.0/ 2.0 |\n");
  check_refused(place, "import nccl-log nccl.log -o t.yaml", "is no cell of a tuning table");
  CHECK_FALSE(place.has("t.yaml"));
}

TEST_CASE("an escape sequence of any length is left out of a matrix", "[cli][hostile]") {
  const Workplace place("long_escape");
  place.write("topo.txt", "\x1b[" + std::string(30'000, '4') +
                              "m\tGPU0\tGPU1\x1b[0m\tCPU Affinity\n"
                              "GPU0\t X \tNV18\t0-55\nGPU1\tNV18\t X \t0-55\n");
  const auto run = place.run("import smi-topo topo.txt -o node.yaml", bounded);
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(place.run("check node.yaml").code == 0);
}

TEST_CASE("a matrix of more devices than a node has is refused", "[cli][hostile]") {
  const Workplace place("wide_matrix");
  std::string header;
  for (int i = 0; i < 20'000; ++i) header += fmt::format("\tGPU{}", i);
  place.write("topo.txt", header + "\n");
  check_refused(place, "import smi-topo topo.txt -o node.yaml", "limit matrix_devices");
}

TEST_CASE("anchors inside anchors are refused before they take gigabytes", "[cli][hostile]") {
  const Workplace place("nested_anchors");
  std::string flat = "a: &a0 [";
  for (int i = 0; i < 2000; ++i) flat += fmt::format("&b{} x, ", i);
  place.write("flat.yaml", flat + "x]\n");
  std::string deep = "a: ";
  for (int i = 0; i < 60; ++i) deep += fmt::format("&n{} [", i);
  for (int i = 0; i < 10'000; ++i) deep += "x, ";
  place.write("deep.yaml", deep + std::string(60, ']') + "\n");
  check_refused(place, "check deep.yaml", "limit yaml_values");
  std::string text = "a: &a " + std::string(900'000, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) text += "*a, ";
  place.write("text.yaml", text + "*a]\n");
  check_refused(place, "check text.yaml", "limit yaml_copied_bytes");
  place.write("depth.yaml", "a: " + std::string(400, '[') + std::string(400, ']') + "\n");
  check_refused(place, "check depth.yaml", "limit yaml_depth");
  place.write("deeper.yaml", "a: " + std::string(100'000, '['));
  check_refused(place, "check deeper.yaml", "limit yaml_depth");
}

TEST_CASE("a mapping in braces that never closes takes no memory", "[cli][hostile]") {
  const Workplace place("braces");
  place.write("braces.yaml", std::string(900'000, '{'));
  check_refused(place, "check braces.yaml", "limit yaml_depth");
}

TEST_CASE("a result file of any depth or number of keys is refused or read at once",
          "[cli][hostile]") {
  const Workplace place("result_files");
  place.write("deep.json", "{\"benchmark_results\": [], \"a\": " + std::string(200'000, '[') +
                               std::string(200'000, ']') + "}");
  check_refused(place, "diff deep.json deep.json", "limit json_depth");
  std::string keys = "{";
  for (int i = 0; i < 60'000; ++i) keys += fmt::format("\"k{}\": 0, ", i);
  place.write("keys.json", keys + "\"k\": 0}");
  check_refused(place, "diff keys.json keys.json", "this is not a result file");
}

TEST_CASE("an XML of more elements than a node has is refused", "[cli][hostile]") {
  const Workplace place("xml_elements");
  std::string cpus = "<system version=\"1\">";
  for (int i = 0; i < 50'000; ++i) cpus += "<cpu numaid=\"0\"/>";
  place.write("topo.xml", cpus + "</system>");
  check_refused(place, "import nccl-topo topo.xml -o node.yaml", "limit topology_elements");
}

TEST_CASE("60000 keys are not compared with each other", "[cli][hostile]") {
  const Workplace place("many_keys");
  std::string yaml;
  for (int i = 0; i < 60'000; ++i) yaml += fmt::format("key{}: 1\n", i);
  place.write("keys.yaml", yaml);
  check_refused(place, "check keys.yaml", "limit yaml_keys");
}

TEST_CASE("a gzip file of kilobytes that unpacks to gigabytes is refused", "[cli][hostile]") {
  const Workplace place("gzip_bomb");
  gzipped("{\"traceEvents\": [" + std::string(90'000'000, ' ') + "]}", place.path() / "t.json.gz");
  check_refused(place,
                "import kineto t.json.gz --gpu v100-sxm2-32gb --batch 1 --dtype fp32 -o p.yaml",
                "limit unzipped_ratio");
}

TEST_CASE("what is no file and no pipe is refused by what it is", "[cli][hostile]") {
  const Workplace place("devices");
  check_refused(place, "check /dev/zero", "/dev/zero:1:1: is a device");
  check_refused(place, "import nccl-log /dev/zero -o t.yaml", "is a device");
  check_refused(place,
                "import nsys /dev/zero --gpu v100-sxm2-32gb --batch 1 --dtype fp32 -o p.yaml",
                "is a device");
  check_refused(place, "import kineto . --gpu v100-sxm2-32gb --batch 1 --dtype fp32 -o p.yaml",
                "is a folder");
  check_refused(place, "check .", "is a folder");
}

TEST_CASE("a long value is shown by its ends, a long word is near to nothing", "[cli][hostile]") {
  const Workplace place("long_values");
  place.write("number.yaml", scenario() + "seed: " + std::string(900'000, '7') + "\n");
  check_refused(place, "run number.yaml", "unknown key 'seed'");
  std::string text = scenario();
  text.replace(text.find("seed: 1"), 7, "seed: " + std::string(900'000, '7'));
  place.write("seed.yaml", text);
  check_refused(place, "run seed.yaml", "...(900000 bytes)...");
  text = scenario();
  text.replace(text.find("ddp"), 3, std::string(900'000, 'd'));
  place.write("word.yaml", text);
  check_refused(place, "run word.yaml", "...(900000 bytes)...");
}

TEST_CASE("a name of another encoding is refused when it is read, with its place",
          "[cli][hostile]") {
  const Workplace place("latin1");
  std::string text = scenario();
  text.replace(text.find("name: test"), 10, "name: caf\xE9");
  place.write("s.yaml", text);
  check_refused(place, "run s.yaml --json r.json",
                "s.yaml:2:10: the byte 0xE9, which is no UTF-8; expected text in UTF-8");
  text = scenario();
  text.replace(text.find("name: test"), 10, "name: \"a\\x1b[2Jb\"");
  place.write("escape.yaml", text);
  check_refused(place, "run escape.yaml", "escape.yaml:2:7: the control character U+001B");
  place.write("table.txt",
              "name,kind,input,output,kernel,parameters\nfc\xE9,Linear,\"[1, 4]\",\"[1, "
              "4]\",--,20\n");
  check_refused(place, "import model-table table.txt -o m.yaml", "table.txt:2:3: the byte 0xE9");
  CHECK_FALSE(place.has("r.json"));
}

TEST_CASE("numbers that no type holds are refused in our words", "[cli][hostile]") {
  const Workplace place("numbers");
  place.write("tests.json", R"({"results": [{"size": 1e999}]})");
  check_refused(place, "import nccl-tests tests.json -o t.yaml", "the JSON breaks off or is none");
  place.write(
      "counts.json",
      R"({"args": ["all_reduce_perf"], "config": {"nthreads": 2147483647, "ngpus": 2147483647,
 "devices": [{"hostname": "a"}]}, "results": [{"size": 18446744073709551615,
 "out_of_place": {"time": 1}}]})");
  check_refused(place, "import nccl-tests counts.json -o t.yaml",
                "the file does not list its devices");
  check_refused(place, "import nccl-tests counts.json --ranks 2 --nodes 1 -o t.yaml",
                "expected a number of bytes");
  place.write("trace.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts":
 9223372036854775, "dur": 1}]})");
  check_refused(place,
                "import kineto trace.json --gpu v100-sxm2-32gb --batch 1 --dtype fp32 -o p.yaml",
                "no time 'ts'");
  place.write("results.json", R"({"schema": "gradwire.results/1", "results": [{"model": 1}]})");
  check_refused(place, "diff results.json results.json", "expected the entries");
  place.write("huge.json", R"({"schema": 1e999})");
  check_refused(place, "diff huge.json huge.json", "this is not JSON");
}

TEST_CASE("a recording with impossible times is refused, and nothing is written of it",
          "[cli][hostile]") {
  const Workplace place("recorded_times");
  using namespace calibration::test;
  const std::filesystem::path folder = place.path() / "node" / "recordings" / "toy";
  for (const bool negative : {true, false}) {
    write_toy_recording(folder, toy_step_ms);
    ToyOptions options;
    options.modules = true;
    auto trace = toy_trace(8, options);
    auto& kernel = trace.device[trace.device.size() / 2];
    kernel.end = negative ? kernel.start - 3000 : std::int64_t{1} << 62U;
    const auto bytes = recording_of(trace, "full");
    write_text(folder / "full.rank0.1.gwr",
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const auto run = place.run("calibrate fit node -o cluster", bounded);
    INFO(run.err);
    CHECK(run.code == 1);
    CHECK_THAT(run.err, Catch::ContainsSubstring("toy is refused") &&
                            Catch::ContainsSubstring("lasts from"));
    CHECK_FALSE(place.has("cluster/toy.yaml"));
  }
}

TEST_CASE("a workload whose sizes overflow is refused", "[cli][hostile]") {
  const Workplace place("workload_sizes");
  using namespace calibration::test;
  const std::filesystem::path folder = place.path() / "node" / "recordings" / "toy";
  write_toy_recording(folder, toy_step_ms);
  std::string parameters;
  for (int i = 0; i < 10'000; ++i) {
    parameters += fmt::format("{}{{\"name\": \"conv.w{}\", \"shape\": [1000000000000000]}}",
                              i == 0 ? "" : ",", i);
  }
  write_text(folder / "workload.json",
             R"({"schema": "gradwire.workload/1", "model": "toy", "gpu": "NVIDIA H200",
 "batch_per_gpu": 8, "dtype": "fp32", "parameters": [)" +
                 parameters + "]}");
  const auto run = place.run("calibrate fit node -o cluster", bounded);
  CHECK(run.code == 1);
  CHECK_THAT(run.err, Catch::ContainsSubstring("too many elements in all"));
}

TEST_CASE("what a command writes, check accepts", "[cli][hostile]") {
  const Workplace place("written");
  calibration::test::write_made_up_node(place.path() / "node");
  REQUIRE(place.run("calibrate fit node -o fitted").code == 0);
  place.write("nccl.log",
              "comm 0 rank 0 nRanks 8 nNodes 2 localRanks 4\n"
              "AllReduce: 65536 Bytes -> Algo 0 proto 0 time 178.5\n");
  REQUIRE(place.run("import nccl-log nccl.log -o log.yaml").code == 0);
  place.write("tests.json",
              R"({"args": ["all_reduce_perf"], "config": {"nthreads": 1, "ngpus": 2,
 "devices": [{"hostname": "a"}]}, "results": [{"size": 1024, "out_of_place": {"time": 12.5}}]})");
  REQUIRE(place.run("import nccl-tests tests.json -o tests.yaml").code == 0);
  REQUIRE(place.run("import compressors node/compressors.json -o costs.yaml").code == 0);
  REQUIRE(place.run("import smi-topo node/topo.txt --source 'a \"b\": {c' -o topo.yaml").code == 0);
  place.write("table.csv",
              "name,kind,input,output,kernel,parameters\n"
              "\"a: {b\",Linear,\"[1, 4]\",\"[1, 4]\",--,20\n");
  REQUIRE(place.run("import model-table table.csv --name 'x: [y' -o model.yaml").code == 0);
  for (const char* file : {"fitted/toy_fp32_b8.yaml", "fitted/node.yaml", "fitted/collectives.yaml",
                           "fitted/compressors.yaml", "log.yaml", "tests.yaml", "costs.yaml",
                           "topo.yaml", "model.yaml"}) {
    const auto check = place.run(fmt::format("check {}", file));
    INFO(file << ": " << check.err);
    CHECK(check.code == 0);
  }
  // A name that no file of ours may have is refused where it is given, not where it is read.
  check_refused(place, "import smi-topo node/topo.txt --name \"$(printf 'caf\\351')\" -o bad.yaml",
                "expected values that 'gradwire check' accepts");
  CHECK_FALSE(place.has("bad.yaml"));
}

TEST_CASE("a recording's name is no path", "[cli][hostile]") {
  const Workplace place("record_name");
  for (const char* name : {"../../x", "/tmp/x", "..", "a/b", "''"}) {
    const auto run = place.run(fmt::format("calibrate record --no-gpu --name {} -- true", name));
    INFO(name << run.err);
    CHECK(run.code == 2);
    CHECK_THAT(run.err, Catch::ContainsSubstring("is no name of a file"));
  }
}

}  // namespace gradwire
