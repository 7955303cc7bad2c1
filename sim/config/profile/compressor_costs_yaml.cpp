#include "sim/config/profile/compressor_costs_yaml.hpp"

#include <optional>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr Seconds no_time{0};

const Fields<CompressorRow>& cost_row_fields() {
  static const Fields<CompressorRow> fields = {
      "coding_times",
      "of a tensor of so many elements",
      {field("elements", &CompressorRow::elements, "more than in the row before",
             at_least<std::int64_t>(1), required),
       field("encode", &CompressorRow::encode, "time", above(no_time), required),
       field("decode", &CompressorRow::decode, "time", above(no_time))}};
  return fields;
}

void read_cost_rows(YamlMap& map, CompressorTable& table) {
  if (map.has("rows") == map.has("encode_n_log2_n")) {
    throw ConfigError(map.where(), "a table needs either 'rows' or 'encode_n_log2_n'");
  }
  if (!map.has("rows")) return;
  std::int64_t least = 1;
  for (YamlMap& row : map.maps("rows")) {
    row.require<std::int64_t>("elements", at_least(least));
    cost_row_fields().read_all(row, table.rows.emplace_back());
    least = table.rows.back().elements + 1;
  }
  if (table.rows.empty()) map.fail("rows", "'rows' is empty; expected at least one row");
}

const Fields<CompressorTable>& cost_fields() {
  static const Fields<CompressorTable> fields = {
      "coding_tables",
      "what a compressor takes on a device",
      {word("compressor", &CompressorTable::compressor, names_of(compression_catalogue()),
            "that ran", required),
       choice("device", &CompressorTable::device,
              {{"gpu", CodecDevice::gpu}, {"cpu", CodecDevice::cpu}}, "that ran it", required),
       {{"gpu", "required of a GPU", "its name, for readers"},
        [](YamlMap& map, CompressorTable& table) {
          if (table.device == CodecDevice::gpu) map.require<std::string>("gpu");
        }},
       {{"memory_bandwidth", "required of a GPU", "its own: on another, times go with it",
         value_info(above(BytesPerSecond{0}))},
        [](YamlMap& map, CompressorTable& table) {
          if (table.device == CodecDevice::cpu) return;
          table.memory_bandwidth =
              map.require<BytesPerSecond>("memory_bandwidth", above(BytesPerSecond{0}));
        }},
       {{"source", required, "where its times are from, for readers"},
        [](YamlMap& map, CompressorTable& /*table*/) { map.require<std::string>("source"); }},
       {{"rows", "none: a law", "in rising order", list_of(mapping_of(cost_row_fields))},
        read_cost_rows},
       {{"below", "required with rows", "what tensors smaller than the first row take",
         among({"constant", "proportional"})},
        [](YamlMap& map, CompressorTable& table) {
          static const std::vector<std::string> below = {"constant", "proportional"};
          if (!table.rows.empty()) {
            table.constant_below = map.require_choice("below", below) == "constant";
          }
        }},
       {{"encode_n_log2_n", "none: rows", "time of an encoding / (elements x log2 of them)",
         value_info(above(no_time))},
        [](YamlMap& map, CompressorTable& table) {
          if (table.rows.empty()) {
            table.encode_n_log2_n = map.require<Seconds>("encode_n_log2_n", above(no_time));
          }
        }}}};
  return fields;
}

struct CostFile {
  std::vector<CompressorTable> tables;
};

const Fields<CostFile>& cost_file_fields() {
  static const Fields<CostFile> fields = {
      "compressor_costs",
      "measured coding times",
      {inside("tables", &CostFile::tables, cost_fields, "one a compressor and device", required)}};
  return fields;
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

Section compressor_costs_section() {
  return cost_file_fields().section();
}

std::vector<CompressorTable> read_compressor_costs(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.compressor_costs/1");
  CostFile file;
  cost_file_fields().read(map, file);
  if (file.tables.empty()) {
    map.fail("tables", "there is no table; expected at least one in 'tables'");
  }
  map.finish();
  return std::move(file.tables);
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
