#include "sim/report/ddl_benchmarks_report.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/report/ddl_benchmarks_charts.hpp"
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

TEST_CASE("ddl-benchmarks' figures have a bar a method in a group a number of GPUs",
          "[report][ddl_benchmarks]") {
  const auto charts = ddl_benchmarks_charts(rows());
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].file == "bert_8-rdma2.svg");
  CHECK(charts[0].title == "BERT-Large (BS=8) on 100GbE with TCP/IP");
  const std::string& svg = charts[0].svg;
  const auto has = [&](const std::string& text) { return svg.find(text) != std::string::npos; };
  CHECK(has("<title>WFBP-A2A: 51.5 +- 1.5</title>"));
  CHECK(has("<title>WFBP-A2A: 60.0 +- 0.0</title>"));
  CHECK(has("<title>MG-WFBP: 70.2 +- 0.0</title>"));
  // The best of a group by one GPU's 49.04: 51.5 is 1.05 times it, 70.25 is 1.43 times it.
  CHECK(has(">1.1x</text>"));
  CHECK(has(">1.4x</text>"));
  // The highest of all has 1 / 1.14 of the 340 pixels, 60 has 60 / 70.25 of that.
  CHECK(has("height=\"298.25\""));
  CHECK(has("height=\"254.73\""));
  // Only what was tried twice has a deviation.
  std::size_t deviations = 0;
  for (std::size_t at = svg.find("<path"); at != std::string::npos;
       at = svg.find("<path", at + 1)) {
    ++deviations;
  }
  CHECK(deviations == 1);
}

TEST_CASE("names in ddl-benchmarks' figures are escaped, and files stay in their folder",
          "[report][ddl_benchmarks]") {
  auto odd = rows();
  odd.resize(1);
  odd[0].result["model"] = "../<b>";
  const auto charts = ddl_benchmarks_charts(odd);
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].file == "____b__8-rdma2.svg");
  CHECK(charts[0].svg.find("<b>") == std::string::npos);
  const std::string figures = ddl_benchmarks_figures(charts);
  CHECK(figures.starts_with("\n# Figures\n"));
  CHECK(figures.find("](____b__8-rdma2.svg)\n") != std::string::npos);
  CHECK(ddl_benchmarks_figures({}).empty());
}
