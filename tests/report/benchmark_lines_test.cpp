#include "sim/report/benchmark_lines.hpp"

#include <array>

#include "sim/report/acpsgd_lines.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

using namespace gradwire;

namespace {

/// 20 batches of 32 on 16 GPUs: ten of 0.1 s, ten of 0.08 s, so rates of 320 and 400; their mean
/// is 360, their population deviation 40, 1.96 of those 78.4; 16 GPUs give 5760 +- 1254.4.
Point sixteen() {
  Point point = make_point("", 16, {{0.1, 16}});
  point.result.iteration_s.assign(10, 0.1);
  point.result.iteration_s.insert(point.result.iteration_s.end(), 10, 0.08);
  return point;
}

}  // namespace

TEST_CASE("Rates are of ten batches each, with 1.96 population deviations", "[report][lines]") {
  const BenchmarkRates rates = benchmark_rates(sixteen().result);
  REQUIRE(rates.rates.size() == 2);
  CHECK(rates.rates[0] == Approx(320));
  CHECK(rates.rates[1] == Approx(400));
  CHECK(rates.mean == Approx(360));
  CHECK(rates.confidence == Approx(78.4));

  SECTION("fewer than ten at the end count as they are") {
    Point point = sixteen();
    point.result.iteration_s.resize(14);
    const BenchmarkRates fewer = benchmark_rates(point.result);
    REQUIRE(fewer.rates.size() == 2);
    CHECK(fewer.rates[1] == Approx(400));
  }
}

TEST_CASE("The lines of Horovod's benchmark", "[report][lines]") {
  CHECK(horovod_lines(sixteen()) ==
        "Model: resnet50\n"
        "Batch size: 32\n"
        "Number of GPUs: 16\n"
        "Running warmup...\n"
        "Running benchmark...\n"
        "Iter #0: 320.0 img/sec per GPU\n"
        "Iter #1: 400.0 img/sec per GPU\n"
        "Img/sec per GPU: 360.0 +-78.4\n"
        "Total img/sec on 16 GPU(s): 5760.0 +-1254.4\n");
}

TEST_CASE("The lines of KungFu's benchmark end with its RESULT", "[report][lines]") {
  Point point = sixteen();
  point.strategy = "kungfu_sync";
  point.scenario_json = R"({"strategy": {"name": "kungfu_sync", "graph": "RING"}})";
  CHECK(kungfu_lines(point) ==
        "Model: ResNet50\n"
        "Batch size: 32\n"
        "Running warmup...\n"
        "Running benchmark...\n"
        "Iter #0: 320.0 img/sec per /gpu:0\n"
        "Iter #1: 400.0 img/sec per /gpu:0\n"
        "Img/sec per /gpu:0: 360.0 +-78.4\n"
        "RESULT: 360.000000 +-78.400000 {\"framework\":\"kungfu\",\"np\":16,\"strategy\":\"RING\","
        "\"bs\":32,\"model\":\"ResNet50\",\"xla\":false,\"kf-opt\":\"sync-sgd\",\"fuse\":false,"
        "\"nvlink\":null,\"data\":\"memory\"}\n");
  point.scenario_json = "{}";
  CHECK(kungfu_lines(point).find("\"strategy\":\"BINARY_TREE_STAR\"") != std::string::npos);
  point.strategy = "kungfu_pair_averaging";
  CHECK(kungfu_lines(point).find("\"fuse\":true") != std::string::npos);
  point.scenario_json = R"({"strategy": {"preset": "kungfu/async-sgd"}})";
  CHECK(kungfu_lines(point).find("\"kf-opt\":\"async-sgd\",\"fuse\":false") != std::string::npos);
  point.strategy = "kungfu_sync";
  point.scenario_json = R"({"strategy": {"mode": "nccl", "nccl_fusion": false}})";
  CHECK(kungfu_lines(point).find("\"kf-opt\":\"sync-sgd-nccl\",\"fuse\":false") !=
        std::string::npos);
}

TEST_CASE("ddl-benchmarks' lines: images as Horovod's, sentences for BERT", "[report][lines]") {
  CHECK(ddl_benchmarks_lines(sixteen()) == horovod_lines(sixteen()));
  Point point = sixteen();
  point.model = "bert_large";
  point.scenario_json = R"({"profile": {"sequence_length": 64}})";
  CHECK(ddl_benchmarks_lines(point) ==
        "Running warmup...\n"
        "BERT Large Pretraining, Sentence len: 64\n"
        "Running benchmark...\n"
        "Iter #0: 320.0 sentences/sec per GPU\n"
        "Iter #1: 400.0 sentences/sec per GPU\n"
        "Sen/sec per GPU: 360.0 +-78.4\n"
        "Total sen/sec on 16 GPU(s): 5760.0 +-1254.4\n");
}

TEST_CASE("The lines of ACP-SGD's benchmark tell an iteration's time", "[report][lines]") {
  // Batches of 0.1 and 0.08 s: 0.09, and 1.96 times a population deviation of 0.01.
  Point point = sixteen();
  CHECK(acpsgd_lines(point) ==
        "Model: resnet50\n"
        "FP16: False\n"
        "Batch size: 32\n"
        "Number of GPUs: 16\n"
        "Running warmup...\n"
        "Running benchmark...\n"
        "Iter #0: 320.0 img/sec per GPU\n"
        "Iter #1: 400.0 img/sec per GPU\n"
        "Iteraction time: 0.090 +-0.020\n"
        "Img/sec per GPU: 360.0 +-78.4\n"
        "Total img/sec on 16 GPU(s): 5760.0 +-1254.4\n");
  point.model = "bert_base";
  const std::string bert = acpsgd_lines(point);
  CHECK(bert.find("Iter #1: 400.0 sentences/sec per GPU\n"
                  "Iteraction time: 0.090 +-0.020\n"
                  "Sen/sec per GPU: 360.0 +-78.4\n") != std::string::npos);
}

TEST_CASE("ACP-SGD's buffers are reported in units of 2^20 bytes", "[report][lines]") {
  const AcpsgdMemory memory{
      .gradients = Bytes{3 << 20}, .p = {Bytes{1 << 20}, Bytes{1 << 18}}, .q = {Bytes{1 << 19}}};
  CHECK(acpsgd_memory_lines(memory) ==
        "Memory (MB) Grad: 3.00, P: 1.25, Q: 0.50\n"
        "P Buffer sizes (MB): 1.00, 0.25\n"
        "Q Buffer sizes (MB): 0.50\n");
}

TEST_CASE("ACP-SGD's comm_time.py compares all-reduces with one of a buffer", "[report][lines]") {
  const std::array kinds = {FusionTimes{.name = "M",
                                        .tensors = 3,
                                        .elements = 600,
                                        .apart = Seconds{3e-3},
                                        .fused = Seconds{1.25e-3}}};
  CHECK(comm_time_lines(kinds) ==
        "# of Ms: 3, # of elements: 600\n"
        "Time (ms) of Ms: 3.000, M buffer: 1.250\n");
}
