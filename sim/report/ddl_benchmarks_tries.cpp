#include "sim/report/ddl_benchmarks_tries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/core/statistics.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

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

const std::array<std::string_view, 3>* names_of_model(const std::string& model) {
  const auto* const known = std::ranges::find(dnns, model, [](const auto& dnn) { return dnn[0]; });
  return known == dnns.end() ? nullptr : known;
}

}  // namespace

std::string DdlBenchmarksTries::task() const {
  const auto* const names = names_of_model(model);
  return fmt::format("{}_{}", names == nullptr ? model : (*names)[1], batch);
}

std::string DdlBenchmarksTries::dnn() const {
  const auto* const names = names_of_model(model);
  return std::string(names == nullptr ? model : (*names)[2]);
}

std::vector<DdlBenchmarksTries> ddl_benchmarks_tries(const ResultRows& rows) {
  std::vector<DdlBenchmarksTries> lines;
  for (const ResultRow& row : rows) {
    if (!row.error.empty()) continue;
    const Json& result = row.result;
    DdlBenchmarksTries line;
    std::tie(line.rdma, line.connection) = network_of(result.at("scenario"));
    line.model = result.at("model").get<std::string>();
    line.batch = result.at("batch_per_gpu").dump();
    line.method = method_of(result);
    line.single_gpu = result.at("single_gpu_throughput").get<double>();
    const auto same = [&](const DdlBenchmarksTries& other) {
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

}  // namespace gradwire
