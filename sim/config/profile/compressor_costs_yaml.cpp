#include "sim/config/profile/compressor_costs_yaml.hpp"

#include <optional>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr Seconds no_time{0};

std::vector<CompressorRow> read_rows(YamlMap& map) {
  std::vector<CompressorRow> rows;
  for (YamlMap& entry : map.maps("rows")) {
    CompressorRow row;
    const std::int64_t least = rows.empty() ? 1 : rows.back().elements + 1;
    row.elements = entry.require<std::int64_t>("elements", at_least(least));
    row.encode = entry.require<Seconds>("encode", above(no_time));
    row.decode = entry.optional<Seconds>("decode", above(no_time));
    entry.finish();
    rows.push_back(row);
  }
  return rows;
}

CompressorTable read_table(YamlMap map) {
  static const std::vector<std::string> devices = {"gpu", "cpu"};
  static const std::vector<std::string> below = {"constant", "proportional"};
  CompressorTable table;
  table.compressor = map.require_choice("compressor", names_of(compression_catalogue()));
  const bool gpu = map.require_choice("device", devices) == "gpu";
  table.device = gpu ? CodecDevice::gpu : CodecDevice::cpu;
  if (gpu) {
    static_cast<void>(map.require<std::string>("gpu"));  // for readers; the bandwidth counts
    table.memory_bandwidth =
        map.require<BytesPerSecond>("memory_bandwidth", above(BytesPerSecond{0}));
  }
  static_cast<void>(map.require<std::string>("source"));
  if (map.has("rows") == map.has("encode_n_log2_n")) {
    throw ConfigError(map.where(), "a table needs either 'rows' or 'encode_n_log2_n'");
  }
  table.rows = read_rows(map);
  if (map.has("rows")) {
    if (table.rows.empty()) map.fail("rows", "'rows' is empty; expected at least one row");
    table.constant_below = map.require_choice("below", below) == "constant";
  } else {
    table.encode_n_log2_n = map.require<Seconds>("encode_n_log2_n", above(no_time));
  }
  map.finish();
  return table;
}

/// Reads the shipped tables when it is asked for the first time: most jobs compress nothing.
class ShippedCosts final : public EncodeCosts {
 public:
  ShippedCosts(BytesPerSecond memory_bandwidth, std::vector<CompressorTable> preferred)
      : memory_bandwidth_(memory_bandwidth), preferred_(std::move(preferred)) {}

  [[nodiscard]] std::optional<MeasuredTime> encode(const std::string& compressor,
                                                   CodecDevice device,
                                                   std::int64_t elements) const override {
    return costs().encode(compressor, device, elements);
  }
  [[nodiscard]] std::optional<MeasuredTime> decode(const std::string& compressor,
                                                   CodecDevice device,
                                                   std::int64_t elements) const override {
    return costs().decode(compressor, device, elements);
  }

 private:
  [[nodiscard]] const MeasuredCosts& costs() const {
    if (!read_) read_.emplace(shipped_compressor_costs(), memory_bandwidth_, preferred_);
    return *read_;
  }

  BytesPerSecond memory_bandwidth_;
  std::vector<CompressorTable> preferred_;
  mutable std::optional<MeasuredCosts> read_;
};

}  // namespace

std::vector<CompressorTable> read_compressor_costs(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.compressor_costs/1");
  std::vector<CompressorTable> tables;
  for (auto& table : map.maps("tables")) tables.push_back(read_table(std::move(table)));
  if (tables.empty()) map.fail("tables", "there is no table; expected at least one in 'tables'");
  map.finish();
  return tables;
}

std::vector<CompressorTable> read_compressor_costs_key(YamlMap& scenario) {
  constexpr const char* key = "compressor_costs";
  std::vector<CompressorTable> tables;
  const YamlValue* named = scenario.find(key);
  if (named == nullptr) return tables;
  const bool several = named->kind == YamlValue::Kind::list;
  for (const YamlValue& one : several ? named->items : std::vector<YamlValue>{*named}) {
    auto read = read_compressor_costs(loaded_yaml(find_data(DataKind::compressor_costs, one, key)));
    tables.insert(tables.end(), read.begin(), read.end());
  }
  return tables;
}

std::vector<CompressorTable> shipped_compressor_costs() {
  std::vector<CompressorTable> tables;
  for (const auto& name : data_names(DataKind::compressor_costs)) {
    auto read =
        read_compressor_costs(loaded_yaml(data_file(DataKind::compressor_costs, name).string()));
    tables.insert(tables.end(), read.begin(), read.end());
  }
  return tables;
}

std::shared_ptr<const EncodeCosts> encode_costs(const GpuSpec& gpu,
                                                const std::vector<CompressorTable>& own) {
  return std::make_shared<ShippedCosts>(gpu.memory_bandwidth, own);
}

}  // namespace gradwire::config
