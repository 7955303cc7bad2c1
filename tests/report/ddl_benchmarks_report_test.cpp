#include "sim/report/ddl_benchmarks_report.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

ResultRow row(const std::string& preset, int world, double rate) {
  nlohmann::ordered_json result = {
      {"scenario", {{"strategy", {{"preset", "ddl_benchmarks/" + preset}, {"rdma", 2}}}}},
      {"model", "bert_large"},
      {"strategy", "wfbp"},
      {"batch_per_gpu", 8},
      {"world_size", world},
      {"throughput_samples_per_s", rate},
      {"single_gpu_throughput", 49.04}};
  return {{}, std::move(result), ""};
}

/// Two tries of WFBP on 4 GPUs, one on 8; MG-WFBP on 8 only; a row that failed.
std::vector<ResultRow> rows() {
  return {row("WFBP-A2A", 4, 50),
          row("WFBP-A2A", 4, 53),
          row("WFBP-A2A", 8, 60),
          row("MG-WFBP", 8, 70.25),
          {{}, nullptr, "out of memory"}};
}

}  // namespace

TEST_CASE("ddl-benchmarks' table has mean and deviation of the tries", "[report][ddl_benchmarks]") {
  // Of 50 and 53 the mean is 51.5, the population's deviation 1.5.
  CHECK(ddl_benchmarks_table(rows()) ==
        "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| BERT-Large | 8 | 100GbE with TCP/IP | WFBP-A2A | 49.0 | 51.500 +- 1.50 | 60.000 +- 0.00 "
        "|\n"
        "| BERT-Large | 8 | 100GbE with TCP/IP | MG-WFBP | 49.0 | - | 70.250 +- 0.00 |\n");
}

TEST_CASE("reports.json has benchmarks.py's keys", "[report][ddl_benchmarks]") {
  CHECK(ddl_benchmarks_reports(rows()).dump() ==
        R"({"2":{"bert_8":{"wfbp":["51.500","60.000"],"mgwfbp":["70.250"]}}})");
}
