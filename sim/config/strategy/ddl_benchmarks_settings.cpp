#include "sim/config/strategy/ddl_benchmarks_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/config/strategy/presets.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr int gpus_of_machine = 4;  ///< configs/cluster$nworkers: slots=4
/// benchmarks.py, tasks: sequences of a GPU for BERT-Large, else images or sequences.
constexpr int large_batch = 8;
constexpr int usual_batch = 64;
constexpr int sentence_length = 64;  ///< horovod_mpi_cj.sh

YamlValue map_at(const SourceLocation& where) {
  YamlValue map;
  map.kind = YamlValue::Kind::map;
  map.where = where;
  return map;
}

/// The mapping below `key`, made where there is none; a name in its place goes.
YamlValue& section(YamlValue& map, const std::string& key, const SourceLocation& where) {
  auto entry = std::ranges::find(map.entries, key, &YamlEntry::key);
  if (entry == map.entries.end()) {
    map.entries.push_back({key, where, map_at(where)});
    entry = map.entries.end() - 1;
  } else if (entry->value.kind != YamlValue::Kind::map) {
    entry->value = map_at(where);
  }
  return entry->value;
}

void put(YamlValue& map, const std::string& key, const std::string& text,
         const SourceLocation& where) {
  YamlValue value;
  value.kind = YamlValue::Kind::scalar;
  value.text = text;
  value.where = where;
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
  map.entries.push_back({key, where, std::move(value)});
}

void put_missing(YamlValue& map, const std::string& key, const std::string& text,
                 const SourceLocation& where) {
  if (map.find(key) == nullptr) put(map, key, text, where);
}

/// What the script of the strategy's own folder trains BERT with: SGD under BytePS
/// (byteps/bert_benchmark.py), Adam under ByteScheduler, else AdamW.
std::string bert_optimizer(const std::string& strategy) {
  if (strategy == "byteps") return "sgd";
  return strategy == "bytescheduler" ? "adam" : "adamw";
}

std::optional<YamlEntry> take(YamlValue& map, const std::string& key) {
  const auto entry = std::ranges::find(map.entries, key, &YamlEntry::key);
  if (entry == map.entries.end()) return std::nullopt;
  YamlEntry taken = *entry;
  map.entries.erase(entry);
  return taken;
}

int count_of(const YamlEntry& entry) {
  const int count = read_value(entry.value, entry.key, at_least(1));
  return count;
}

void put_model(YamlValue& scenario, const YamlEntry& dnn, const std::string& strategy) {
  const auto name = read_value<std::string>(dnn.value, dnn.key);
  const bool bert = name == "bert" || name == "bert_base";
  YamlValue& profile = section(scenario, "profile", dnn.where);
  std::erase_if(profile.entries, [](const YamlEntry& entry) { return entry.key == "file"; });
  put(profile, "model", name == "bert" ? "bert_large" : name, dnn.value.where);
  put_missing(profile, "batch_per_gpu",
              fmt::format("{}", name == "bert" ? large_batch : usual_batch), dnn.where);
  if (!bert) return;
  put_missing(profile, "sequence_length", fmt::format("{}", sentence_length), dnn.where);
  // All positions are decoded: the loss runs over prediction_scores.view(-1, vocab_size).
  put_missing(profile, "head", "pretraining_all_positions", dnn.where);
  put_missing(profile, "optimizer", bert_optimizer(strategy), dnn.where);
}

void put_workers(YamlValue& scenario, const YamlEntry& nworkers) {
  const int workers = count_of(nworkers);
  if (workers > gpus_of_machine && workers % gpus_of_machine != 0) {
    throw ConfigError(nworkers.value.where,
                      fmt::format("'nworkers' is {}; expected up to {}, or a multiple of it: "
                                  "machines have {} GPUs",
                                  workers, gpus_of_machine, gpus_of_machine));
  }
  YamlValue& cluster = section(scenario, "cluster", nworkers.where);
  put(cluster, "nodes", fmt::format("{}", std::max(1, workers / gpus_of_machine)), nworkers.where);
  put(cluster, "gpus_per_node", fmt::format("{}", std::min(workers, gpus_of_machine)),
      nworkers.where);
}

void put_network(YamlValue& scenario, const YamlEntry& rdma) {
  static const std::vector<std::string> settings = {"0", "1", "2"};
  static const std::array<std::string, 3> links = {"eth_10g", "ib_edr", "ipoib_100g"};
  const auto setting = std::ranges::find(settings, rdma.value.text);
  if (setting == settings.end()) fail_choice(rdma.value, rdma.key, settings);
  YamlValue& fabric = section(section(scenario, "cluster", rdma.where), "fabric", rdma.where);
  put_missing(fabric, "kind", "single_switch", rdma.where);
  put(fabric, "link", links[static_cast<std::size_t>(setting - settings.begin())],
      rdma.value.where);
}

}  // namespace

const std::vector<std::string>& ddl_benchmarks_settings() {
  static const std::vector<std::string> names = {"dnn", "bs", "senlen", "nworkers", "rdma"};
  return names;
}

void translate_ddl_benchmarks_settings(YamlValue& scenario) {
  const std::string strategy = strategy_named(scenario);
  const auto written = std::ranges::find(scenario.entries, "strategy", &YamlEntry::key);
  if (written == scenario.entries.end() || written->value.kind != YamlValue::Kind::map) return;
  YamlValue& map = written->value;
  const auto dnn = take(map, "dnn");
  const auto bs = take(map, "bs");
  const auto senlen = take(map, "senlen");
  const auto nworkers = take(map, "nworkers");
  const auto rdma = take(map, "rdma");
  // What is put may move the entries: `map` is not looked at any more.
  const auto put_count = [&](const YamlEntry& setting, const std::string& key) {
    put(section(scenario, "profile", setting.where), key, fmt::format("{}", count_of(setting)),
        setting.value.where);
  };
  if (bs) put_count(*bs, "batch_per_gpu");
  if (senlen) put_count(*senlen, "sequence_length");
  if (dnn) put_model(scenario, *dnn, strategy);
  if (nworkers) put_workers(scenario, *nworkers);
  if (rdma) put_network(scenario, *rdma);
}

}  // namespace gradwire::config
