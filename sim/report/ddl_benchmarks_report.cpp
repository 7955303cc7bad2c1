#include "sim/report/ddl_benchmarks_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/statistics.hpp"
#include "sim/report/ddl_benchmarks_tries.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

/// A preset's name behind "ddl_benchmarks/", and benchmarks.py's.
constexpr auto method_keys = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"BSP-A2A", "bspa2a"},
    {"WFBP-A2A", "wfbp"},
    {"MG-WFBP", "mgwfbp"},
    {"ByteScheduler-A2A", "bytescheduler"},
    {"BSP-PS", "bspps"},
    {"WFBP-PS", "wfbpps"},
    {"ByteScheduler-PS", "byteschedulerps"},
    {"Horovod", "horovod"},
    {"TopK", "topk"},
    {"EF-TopK", "eftopk"},
    {"Signum", "signum"},
    {"EF-Signum", "efsignum"},
});

}  // namespace

std::string ddl_benchmarks_table(const ResultRows& rows) {
  const std::vector<DdlBenchmarksTries> lines = ddl_benchmarks_tries(rows);
  std::set<int> worlds;
  for (const DdlBenchmarksTries& line : lines) {
    for (const auto& [world, rates] : line.rates) worlds.insert(world);
  }
  std::string text = "| DNN | BS | CONNECTION | METHOD | 1 GPU |";
  std::string rule = "| --- | --- | --- | --- | --- |";
  for (const int world : worlds) {
    text += fmt::format(" {} GPUs |", world);
    rule += " --- |";
  }
  text += '\n' + rule + '\n';
  for (const DdlBenchmarksTries& line : lines) {
    text +=
        fmt::format("| {} | {} | {} | {} | {:.1f} |", markdown_name(line.dnn()), line.batch,
                    markdown_name(line.connection), markdown_name(line.method), line.single_gpu);
    for (const int world : worlds) {
      const auto tries = line.rates.find(world);
      text += tries == line.rates.end() ? " - |"
                                        : fmt::format(" {:.3f} +- {:.2f} |", mean(tries->second),
                                                      population_deviation(tries->second));
    }
    text += '\n';
  }
  return text;
}

nlohmann::ordered_json ddl_benchmarks_reports(const ResultRows& rows) {
  Json reports = Json::object();
  for (const DdlBenchmarksTries& line : ddl_benchmarks_tries(rows)) {
    const auto* const known = std::ranges::find(method_keys, line.method,
                                                [](const auto& method) { return method.first; });
    const std::string method =
        known == method_keys.end() ? line.method : std::string(known->second);
    Json& list = reports[line.rdma][line.task()][method];
    for (const auto& [world, tries] : line.rates)
      list.push_back(fmt::format("{:.3f}", mean(tries)));
  }
  return reports;
}

}  // namespace gradwire
