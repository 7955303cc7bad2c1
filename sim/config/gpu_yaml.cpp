#include "sim/config/gpu_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/config/data_files.hpp"
#include "sim/config/efficiencies_yaml.hpp"
#include "sim/config/yaml_map.hpp"
#include "topologies/node_links.hpp"

namespace gradwire::config {
namespace {

/// A GPU's links are data of the topologies; its description states them for its readers, and must
/// not say otherwise.
void check_links(YamlMap map, const GpuSpec& gpu) {
  const auto nvlink = map.value_or<std::string>("nvlink", "");
  const int lanes = map.value_or("nvlink_lanes", 0, at_least(0));
  const auto pcie = map.require<std::string>("pcie");
  const GpuWires* wires = find_gpu_wires(gpu.name);
  if (wires != nullptr &&
      (wires->nvlink != nvlink || wires->nvlinks != lanes || wires->pcie != pcie)) {
    throw ConfigError(
        map.where(),
        fmt::format("links are not those that topologies use for '{}'; expected {}", gpu.name,
                    wires->nvlinks == 0 ? fmt::format("pcie: {} and no nvlink", wires->pcie)
                                        : fmt::format("nvlink: {}, nvlink_lanes: {}, pcie: {}",
                                                      wires->nvlink, wires->nvlinks, wires->pcie)));
  }
  map.finish();
}

}  // namespace

GpuSpec read_gpu(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.gpu/1");
  GpuSpec gpu;
  gpu.name = map.require<std::string>("name");
  gpu.device_names = map.list<std::string>("device_names");
  gpu.multiprocessors = map.require<int>("multiprocessors", at_least(1));
  gpu.memory_size = map.value_or<Bytes>("memory_size", {}, above(Bytes{0}));
  gpu.memory_bandwidth = map.require<BytesPerSecond>("memory_bandwidth", above(BytesPerSecond{0}));
  gpu.memory_efficiency =
      map.require<Ratio>("memory_efficiency", between(Ratio{0.01}, Ratio{1})).value;
  gpu.kernel_overhead = map.require<Seconds>("kernel_overhead");
  YamlMap flops = map.require_map("peak_flops");
  for (const auto& dtype : flops.keys()) {
    gpu.peak_flops[dtype] = flops.require<double>(dtype, above(0.0));
  }
  if (map.has("efficiencies")) {
    const auto name = map.require_choice("efficiencies", data_names(DataKind::efficiencies));
    gpu.architecture = name;
    gpu.efficiency = read_efficiencies(load_yaml(data_file(DataKind::efficiencies, name).string()));
  }
  if (auto links = map.optional_map("links")) check_links(*links, gpu);
  map.find("source");    // provenance, for readers of the file
  map.find("recorded");  // same
  map.finish();
  return gpu;
}

GpuSpec shipped_gpu(const std::string& name, const SourceLocation& where) {
  const auto known = data_names(DataKind::gpu);
  if (std::ranges::find(known, name) == known.end()) {
    throw ConfigError(where, fmt::format("GPU '{}' is not described; expected one that 'gradwire "
                                         "list gpus' shows{}",
                                         name, suggestion(name, known)));
  }
  return read_gpu(load_yaml(data_file(DataKind::gpu, name).string()));
}

std::string board_of(const std::string& gpu) {
  return gpu.ends_with("gb") ? gpu.substr(0, gpu.rfind('-')) : gpu;
}

std::optional<GpuSpec> described_gpu(const std::string& model) {
  const auto known = data_names(DataKind::gpu);
  auto found = std::ranges::find(known, model);
  if (found == known.end()) {
    found = std::ranges::find_if(
        known, [&](const std::string& name) { return board_of(name) == board_of(model); });
  }
  if (found == known.end()) return std::nullopt;
  return shipped_gpu(*found, {model, 0, 0});
}

std::string gpu_of_device(const std::string& device) {
  const auto bare = [](const std::string& name) {
    constexpr std::string_view maker = "NVIDIA ";  // drivers before 470 do not print it
    return name.starts_with(maker) ? name.substr(maker.size()) : name;
  };
  for (const std::string& name : data_names(DataKind::gpu)) {
    if (name == device) return name;
    for (const std::string& known : shipped_gpu(name, {device, 0, 0}).device_names) {
      if (bare(known) == bare(device)) return name;
    }
  }
  return device;
}

}  // namespace gradwire::config
