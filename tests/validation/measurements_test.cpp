#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/config/collective/constants_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/skipped.hpp"
#include "tests/topologies/files.hpp"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

config::CollectiveMeasurements shipped() {
  const config::YamlValue document = config::load_yaml(
      (test::source_dir() / "results" / "reference" / "collectives.yaml").string());
  return config::read_collective_measurements(document);
}

std::map<std::string, config::MeasuredCollective> by_id() {
  std::map<std::string, config::MeasuredCollective> tables;
  for (const auto& table : shipped().tables) tables.emplace(table.id, table);
  return tables;
}

std::string text_of(const config::YamlValue& entry, const char* key) {
  const config::YamlValue* value = entry.find(key);
  return value == nullptr ? "" : value->text;
}

constexpr const char* head =
    "schema: gradwire.collective_measurements/1\n"
    "tables:\n"
    "  - {id: x, family: f, source: s, hardware: h, cluster: {node: dgx1v, nodes: 1},\n"
    "     collective: {library: nccl, version: \"2.8\"}, op: all_reduce,\n";

std::string error_of(const std::string& rest) {
  const config::YamlValue document = config::parse_yaml(head + rest, "x.yaml");
  return test::refusal_of([&] { return config::read_collective_measurements(document); });
}

TEST_CASE("A table of measurements is refused with the place of what is wrong", "[validation]") {
  CHECK(error_of(
            "     ranks: 8, parts: {a: score}, rows: [[1 MiB, 70 us], [2 MiB, 90 us, 1 %]]}\n") ==
        "accepted");
  CHECK(error_of("     ranks: 4, parts: {a: score}, rows: [[1 MiB, 70 us]]}\n") ==
        "x.yaml:5:13: 'ranks' is 4, but the cluster has 8 GPUs in use; expected the same number");
  CHECK(error_of("     ranks: 8, parts: {a: scored}, rows: [[1 MiB, 70 us]]}\n") ==
        "x.yaml:5:27: 'a' is 'scored'; expected one of calibrate, score, show; did you mean "
        "'score'?");
  CHECK(error_of("     ranks: 8, parts: {a: score}, rows: [[1 MiB, 70 us], [1 MiB, 71 us]]}\n") ==
        "x.yaml:5:59: 'size' is not above the row before; expected rows in rising order of size");
  CHECK(error_of("     ranks: 8, parts: {a: score}, rows: [[1 MiB]]}\n") ==
        "x.yaml:5:42: a row is [size, time] or [size, time, spread], such as [1 MiB, 70 us, 1.5 "
        "%]");
  CHECK(error_of("     ranks: 8, parts: {d: score}, rows: [[1 MiB, 70 us]]}\n")
            .find("unknown key 'd'") != std::string::npos);
  CHECK(error_of("     ranks: 8, parts: {a: score}, rows: [[1 MiB, 70]]}\n").find("'time'") !=
        std::string::npos);
}

TEST_CASE("Every table has a source, rows and a part to play", "[validation]") {
  const auto measured = shipped();
  CHECK(measured.tables.size() >= 50);
  for (const auto& table : measured.tables) {
    INFO(table.id);
    CHECK_FALSE(table.source.empty());
    CHECK_FALSE(table.parts.empty());
    CHECK(table.series.rows.size() == table.spreads.size());
  }
  REQUIRE(measured.choices.size() == 1);
  CHECK(measured.choices[0].series.rows.size() == 25);
}

TEST_CASE("What libraries' constants and links were fitted to is not scored", "[validation]") {
  std::set<std::string> fitted = {"vtrain-v100-2gpu-all_reduce"};  // nvlink2, links.yaml
  fitted.emplace("alcf-polaris-nccl2.18-n8-env4-all_gather");      // slingshot_11, links.yaml
  fitted.emplace("alcf-polaris-nccl2.21-n2-env4-all_reduce");      // its rendezvous
  for (const std::string& name : config::data_names(config::DataKind::constants)) {
    const std::string file = config::data_file(config::DataKind::constants, name).string();
    const config::Constants constants(config::loaded_yaml(file));
    for (const auto& constant : constants.stated()) {
      for (const auto& [series, rows] : constant.source.rows) fitted.insert(series);
    }
  }
  for (const auto& table : shipped().tables) {
    INFO(table.id);
    const bool none_scored = std::ranges::none_of(table.parts, [](const auto& part) {
      return part.second == config::MeasurementRole::score;
    });
    if (none_scored && table.fitted.empty()) continue;
    CHECK(!table.fitted.empty() == fitted.contains(table.id));
  }
}

TEST_CASE("Every shared table of NCCL stands in the dataset, row by row", "[validation][shared]") {
  const fs::path file = test::shared("data/measurements/nccl.yaml");
  if (test::skipped_without(file)) return;
  const auto tables = by_id();
  const config::YamlValue list = config::load_yaml(file.string());
  CHECK(list.items.size() >= 39);
  for (const config::YamlValue& entry : list.items) {
    const std::string id = text_of(entry, "id");
    INFO(id);
    REQUIRE(tables.contains(id));
    const auto& table = tables.at(id);
    CHECK(table.source == text_of(entry, "source"));
    CHECK(std::to_string(table.series.ranks) == text_of(entry, "total_gpus"));
    std::size_t next = 0;
    std::int64_t last = 0;
    for (const config::YamlValue& row : entry.find("rows")->items) {
      const std::int64_t size = std::stoll(row.items.at(0).text);
      if (size <= last) continue;  // size 0, printed where the ranks have nothing to send
      last = size;
      REQUIRE(next < table.series.rows.size());
      CHECK(table.series.rows[next].size.count() == size);
      CHECK(1e6 * table.series.rows[next].time.count() ==
            Approx(std::stod(row.items.at(1).text)).epsilon(1e-9));
      ++next;
    }
    CHECK(next == table.series.rows.size());
  }
}

TEST_CASE("Open MPI's shared tables stand in the dataset", "[validation][shared]") {
  const fs::path file = test::shared("data/measurements/mpi_gloo.yaml");
  if (test::skipped_without(file)) return;
  const auto tables = by_id();
  int found = 0;
  const config::YamlValue list = config::load_yaml(file.string());
  for (const config::YamlValue& entry : list.items) {
    if (!text_of(entry, "id").starts_with("bcaffe")) continue;
    const std::string id = "bcaffe-openmpi-" + text_of(entry, "nodes") + "n";
    INFO(id);
    REQUIRE(tables.contains(id));
    const auto& rows = entry.find("rows")->items;
    REQUIRE(rows.size() == tables.at(id).series.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const MeasuredRow& row = tables.at(id).series.rows[i];
      CHECK(row.size.count() == std::stoll(rows[i].items.at(0).text));
      CHECK(1e6 * row.time.count() == Approx(std::stod(rows[i].items.at(1).text)));
    }
    ++found;
  }
  CHECK(found == 3);
}

TEST_CASE("The lab's Gloo tables stand in the dataset to five digits", "[validation][shared]") {
  if (test::skipped_without(test::shared("lab/data"))) return;
  const auto tables = by_id();
  int found = 0;
  for (const char* kind : {"allreduce", "other"}) {
    for (const int world : {2, 4}) {
      const auto name =
          "gloo_" + std::string(kind) + "_w" + std::to_string(world) + "_r300_run1.json";
      const auto records = nlohmann::json::parse(test::read_text(test::shared("lab/data") / name));
      for (const auto& record : records) {
        const auto op = record.at("op").get<std::string>();
        if (op == "all_reduce_pair") continue;  // two collectives at a time
        const auto& table = tables.at("lab-gloo-w" + std::to_string(world) + "-" + op);
        // The lab counts one rank's part of an all-gather, nccl-tests those of all ranks.
        const std::int64_t size =
            record.at("bytes").get<std::int64_t>() * (op == "all_gather" ? world : 1);
        const double p50 = record.at("max_over_ranks").at("p50").get<double>();
        const auto row = std::find_if(table.series.rows.begin(), table.series.rows.end(),
                                      [&](const MeasuredRow& r) { return r.size.count() == size; });
        INFO(name << " " << op << " " << size);
        REQUIRE(row != table.series.rows.end());
        CHECK(row->time.count() == Approx(p50).epsilon(1e-4));
        ++found;
      }
    }
  }
  CHECK(found == 40);  // 8 sizes of all_reduce and 3 x 4 others, at 2 and 4 hosts
}

TEST_CASE("NCCL's printed choices stand in the dataset", "[validation][shared]") {
  const fs::path file = test::shared("data/nccl_logs/nccl_predicted_time_4x8_rtx3090_fdr.txt");
  if (test::skipped_without(file)) return;
  const std::map<std::string, std::string> algorithms = {{"0", "tree"}, {"1", "ring"}};
  const std::map<std::string, std::string> protocols = {
      {"0", "ll"}, {"1", "ll128"}, {"2", "simple"}};
  const auto rows = shipped().choices.at(0).series.rows;
  std::ifstream in(file);
  std::size_t next = 0;
  std::string size;
  std::string word;
  std::string algorithm;
  std::string protocol;
  double time = 0;
  while (in >> size >> word >> word >> word >> algorithm >> word >> protocol >> word >> time) {
    REQUIRE(next < rows.size());
    CHECK(std::to_string(rows[next].size.count()) == size);
    CHECK(rows[next].algorithm == algorithms.at(algorithm));
    CHECK(rows[next].protocol == protocols.at(protocol));
    CHECK(1e6 * rows[next].time.count() == Approx(time).epsilon(1e-9));
    ++next;
  }
  CHECK(next == 25);
}

}  // namespace
}  // namespace gradwire
