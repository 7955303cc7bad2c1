#include "sim/report/ddl_benchmarks_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/statistics.hpp"

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

/// `rdma`, the link that it stands for here, and plots.py's name.
struct NetworkName {
  std::string_view rdma;
  std::string_view link;
  std::string_view name;
};
constexpr auto networks = std::to_array<NetworkName>({
    {"0", "eth_10g", "10GbE with TCP/IP"},
    {"1", "ib_edr", "100GbIB with RDMA"},
    {"2", "ipoib_100g", "100GbE with TCP/IP"},
});

/// Our model, benchmarks.py's name, and plots.py's.
constexpr auto dnns = std::to_array<std::array<std::string_view, 3>>({
    {"bert_large", "bert", "BERT-Large"},
    {"bert_base", "bert_base", "BERT-Base"},
    {"resnet50", "resnet50", "ResNet-50"},
});

/// A line of the table: what its tries gave, by number of GPUs.
struct Line {
  std::string rdma;
  std::string connection;
  std::string model;
  std::string batch;
  std::string method;
  double single_gpu = 0;
  std::map<int, std::vector<double>> rates;
};

std::string text_at(const Json& json, const char* pointer) {
  const auto place = Json::json_pointer(pointer);
  if (!json.contains(place)) return "";
  const Json& value = json.at(place);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Names of a network that the benchmark does not know are the link's own.
std::pair<std::string, std::string> network_of(const Json& scenario) {
  const std::string rdma = text_at(scenario, "/strategy/rdma");
  const std::string link = text_at(scenario, "/cluster/fabric/link");
  for (const NetworkName& network : networks) {
    if (rdma.empty() ? network.link == link : network.rdma == rdma) {
      return {std::string(network.rdma), std::string(network.name)};
    }
  }
  return {link, link};
}

std::string method_of(const Json& result) {
  const std::string preset = text_at(result, "/scenario/strategy/preset");
  if (preset.empty()) return result.at("strategy").get<std::string>();
  return preset.substr(preset.find('/') + 1);
}

std::vector<Line> lines_of(const ResultRows& rows) {
  std::vector<Line> lines;
  for (const ResultRow& row : rows) {
    if (!row.error.empty()) continue;
    const Json& result = row.result;
    Line line;
    std::tie(line.rdma, line.connection) = network_of(result.at("scenario"));
    line.model = result.at("model").get<std::string>();
    line.batch = result.at("batch_per_gpu").dump();
    line.method = method_of(result);
    line.single_gpu = result.at("single_gpu_throughput").get<double>();
    const auto same = [&](const Line& other) {
      return std::tie(other.rdma, other.model, other.batch, other.method) ==
             std::tie(line.rdma, line.model, line.batch, line.method);
    };
    auto found = std::ranges::find_if(lines, same);
    if (found == lines.end()) {
      lines.push_back(std::move(line));
      found = lines.end() - 1;
    }
    found->rates[result.at("world_size").get<int>()].push_back(
        result.at("throughput_samples_per_s").get<double>());
  }
  return lines;
}

double population_deviation(const std::vector<double>& tries) {
  const auto count = static_cast<double>(tries.size());
  return tries.size() < 2 ? 0 : stdev(tries) * std::sqrt((count - 1) / count);
}

std::string task_of(const Line& line) {
  const auto* const known =
      std::ranges::find(dnns, line.model, [](const auto& dnn) { return dnn[0]; });
  return fmt::format("{}_{}", known == dnns.end() ? line.model : (*known)[1], line.batch);
}

std::string name_of(const Line& line) {
  const auto* const known =
      std::ranges::find(dnns, line.model, [](const auto& dnn) { return dnn[0]; });
  return std::string(known == dnns.end() ? line.model : (*known)[2]);
}

}  // namespace

std::string ddl_benchmarks_table(const ResultRows& rows) {
  const std::vector<Line> lines = lines_of(rows);
  std::set<int> worlds;
  for (const Line& line : lines) {
    for (const auto& [world, rates] : line.rates) worlds.insert(world);
  }
  std::string text = "| DNN | BS | CONNECTION | METHOD | 1 GPU |";
  std::string rule = "| --- | --- | --- | --- | --- |";
  for (const int world : worlds) {
    text += fmt::format(" {} GPUs |", world);
    rule += " --- |";
  }
  text += '\n' + rule + '\n';
  for (const Line& line : lines) {
    text +=
        fmt::format("| {} | {} | {} | {} | {:.1f} |", markdown_name(name_of(line)), line.batch,
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
  for (const Line& line : lines_of(rows)) {
    const auto* const known = std::ranges::find(method_keys, line.method,
                                                [](const auto& method) { return method.first; });
    const std::string method =
        known == method_keys.end() ? line.method : std::string(known->second);
    Json& list = reports[line.rdma][task_of(line)][method];
    for (const auto& [world, tries] : line.rates)
      list.push_back(fmt::format("{:.3f}", mean(tries)));
  }
  return reports;
}

}  // namespace gradwire
