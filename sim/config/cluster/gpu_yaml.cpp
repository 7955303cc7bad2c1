#include "sim/config/cluster/gpu_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/efficiencies_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

struct Links {
  std::string nvlink;
  int nvlink_lanes = 0;
  std::string pcie;
};

const Fields<Links>& links_fields() {
  static const Fields<Links> fields = {
      "links",
      "kinds of link that the GPU has",
      {field("nvlink", &Links::nvlink, "generation", {}, "none"),
       field("nvlink_lanes", &Links::nvlink_lanes, "how many", at_least(0)),
       field("pcie", &Links::pcie, "generation and lanes", {}, required)}};
  return fields;
}

/// A GPU's links are data of the topologies; its description states them for its readers, and must
/// not say otherwise.
void check_links(YamlMap& file, GpuSpec& gpu) {
  const auto map = file.optional_map("links");
  if (!map) return;
  Links links;
  links_fields().read_all(*map, links);
  const GpuWires* wires = shipped_links().find_gpu(gpu.name);
  if (wires == nullptr || (wires->nvlink == links.nvlink && wires->nvlinks == links.nvlink_lanes &&
                           wires->pcie == links.pcie)) {
    return;
  }
  throw ConfigError(
      map->where(),
      fmt::format("links are not those that topologies use for '{}'; expected {}", gpu.name,
                  wires->nvlinks == 0 ? fmt::format("pcie: {} and no nvlink", wires->pcie)
                                      : fmt::format("nvlink: {}, nvlink_lanes: {}, pcie: {}",
                                                    wires->nvlink, wires->nvlinks, wires->pcie)));
}

/// Intel, PC SDRAM Specification, 1997: 66 MHz, 64 bits wide.
constexpr Range<BytesPerSecond> memory_rates{
    {}, BytesPerSecond{533e6}, {}, "a PC's SDRAM of 1997: no GPU's is slower"};

/// What a GPU file says, and a scenario may say otherwise.
std::vector<Field<GpuSpec>> memory_fields(const std::string& fallback) {
  return {
      field("memory_bandwidth", &GpuSpec::memory_bandwidth, "nominal rate", memory_rates, fallback),
      share("memory_efficiency", &GpuSpec::memory_efficiency, "of that rate, what kernels reach",
            between(Ratio{0.01}, Ratio{1}), fallback),
      field("kernel_overhead", &GpuSpec::kernel_overhead, "least time of a small kernel",
            between(Seconds{}, latency_most), fallback)};
}

const Fields<L2Cache>& l2_fields() {
  static const Fields<L2Cache> fields = {
      "l2",
      "an L2 cache larger than those of the GPUs that `efficiencies` are of",
      {field("size", &L2Cache::size, "what it holds", above(Bytes{0}), required),
       field("bandwidth", &L2Cache::bandwidth,
             "of a copy that stays in it, read and written; above that of the memory",
             above(BytesPerSecond{0}), required)}};
  return fields;
}

/// REQUIRES: what the file says of memory was read.
void read_l2(YamlMap& map, GpuSpec& gpu) {
  auto cache = map.optional_map("l2");
  if (!cache) return;
  l2_fields().read_all(*cache, gpu.l2);
  if (gpu.l2.bandwidth.count() > gpu.memory_bandwidth.count()) return;
  cache->fail("bandwidth", fmt::format("'bandwidth' is not above the memory's; expected more than "
                                       "{:.4g} GB/s",
                                       1e-9 * gpu.memory_bandwidth.count()));
}

void read_peak_flops(YamlMap& map, GpuSpec& gpu) {
  YamlMap flops = map.require_map("peak_flops");
  for (const auto& dtype : flops.keys()) {
    gpu.peak_flops[dtype] = flops.require<double>(dtype, above(0.0));
  }
}

void read_efficiencies_key(YamlMap& map, GpuSpec& gpu) {
  if (map.find("efficiencies") == nullptr) return;
  gpu.architecture = require_data(map, "efficiencies", DataKind::efficiencies);
  gpu.efficiency =
      read_efficiencies(loaded_yaml(data_file(DataKind::efficiencies, gpu.architecture).string()));
}

/// REQUIRES: what the file says of power, clock and multiprocessors was read.
void read_measured_on(YamlMap& map, GpuSpec& gpu) {
  if (map.find("measured_on") == nullptr) return;
  const std::string other = require_data(map, "measured_on", DataKind::gpu);
  const GpuSpec measured = read_gpu(loaded_yaml(data_file(DataKind::gpu, other).string()));
  for (const GpuSpec* spec : {&std::as_const(gpu), &measured}) {
    if (spec->power > Watts{0} && spec->clock > Hertz{0}) continue;
    map.fail("measured_on", fmt::format("power and clock of '{}' are not both stated; expected a "
                                        "GPU whose file says them",
                                        spec->name));
  }
  gpu.power_ratio = gpu.power / measured.power * measured.multiprocessors / gpu.multiprocessors;
  gpu.clock_ratio = measured.clock / gpu.clock;
}

Section peak_flops_section() {
  return {.name = "peak_flops",
          .summary = "by `dtype`, dense",
          .keys = {},
          .others = KeyInfo{"TYPE", "none", "FLOP/s", value_info(above(0.0))}};
}

const Fields<GpuSpec>& gpu_fields() {
  static const Fields<GpuSpec> fields = [] {
    std::vector<Field<GpuSpec>> all = {
        field("name", &GpuSpec::name, "as the file's", {}, required),
        field("device_names", &GpuSpec::device_names, "what drivers call it"),
        field("multiprocessors", &GpuSpec::multiprocessors, "how many", at_least(1), required),
        field("clock", &GpuSpec::clock,
              "of the multiprocessors, at which `peak_flops` of half precision holds: `clock` of a "
              "machine is held against it",
              above(Hertz{0}), "not known"),
        field("power", &GpuSpec::power,
              "the board's limit: `power_limit` of a machine is held against it", above(Watts{0}),
              "not known"),
        field("memory_size", &GpuSpec::memory_size, "what `memory` warns of", above(Bytes{0}),
              "not known")};
    for (auto& memory : memory_fields(required)) all.push_back(std::move(memory));
    all.push_back({{"l2", "none", "what a larger L2 cache than its efficiencies know saves",
                    mapping_of(l2_fields)},
                   read_l2});
    all.push_back(field("products_beside_kernels", &GpuSpec::products_beside_kernels,
                        "times as long that matrix products take beside a communication kernel, "
                        "over what fewer multiprocessors make",
                        at_least(1.0), "1"));
    all.push_back(share("host_time", &GpuSpec::host_time,
                        "of a framework's time to launch, what the machines with this GPU take",
                        above(Ratio{0}), "100 %"));
    all.push_back(
        {{"peak_flops", required, "FLOP/s by `dtype`, dense", mapping_of(peak_flops_section)},
         read_peak_flops});
    all.push_back({{"efficiencies", "none: nothing is counted from models",
                    "shares of the peaks by kind of layer: a file of `profiles/efficiencies/`"},
                   read_efficiencies_key});
    all.push_back(
        {{"measured_on", "this one",
          "the GPU with the same chip that those shares are of: where this board has less "
          "power for each multiprocessor, arithmetic sustains a lower clock"},
         read_measured_on});
    all.push_back({{"links", "none", "kinds of link", mapping_of(links_fields)}, check_links});
    all.push_back(note<GpuSpec>("source", "where its numbers are from, for readers"));
    all.push_back(note<GpuSpec>("recorded", "what was measured how, for readers"));
    return Fields<GpuSpec>("gpu_file", "what a GPU is", all);
  }();
  return fields;
}

}  // namespace

const Fields<GpuSpec>& gpu_override_fields() {
  static const Fields<GpuSpec> fields = {
      "gpu",
      "other constants of that GPU, for copies, coding and NCCL beside compute (layers keep their "
      "times)",
      memory_fields("the GPU's own")};
  return fields;
}

Section gpu_file_section() {
  return gpu_fields().section();
}

GpuSpec read_gpu(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.gpu/1");
  GpuSpec gpu;
  gpu_fields().read_all(std::move(map), gpu);
  gpu.kernels = shipped_kernels();
  gpu.memory = shipped_memory();
  gpu.errors = shipped_profile_errors();
  return gpu;
}

GpuSpec shipped_gpu(const std::string& name, const SourceLocation& where) {
  if (!is_data(DataKind::gpu, name)) {
    throw ConfigError(where, fmt::format("GPU '{}' is not described; expected one that 'gradwire "
                                         "list gpus' shows{}",
                                         name, suggestion(name, data_names(DataKind::gpu))));
  }
  return read_gpu(loaded_yaml(data_file(DataKind::gpu, name).string()));
}

std::string board_of(const std::string& gpu) {
  return gpu.ends_with("gb") ? gpu.substr(0, gpu.rfind('-')) : gpu;
}

std::optional<GpuSpec> described_gpu(const std::string& model) {
  if (is_data(DataKind::gpu, model)) return shipped_gpu(model, {model, 0, 0});
  const auto known = data_names(DataKind::gpu);
  const auto found = std::ranges::find_if(
      known, [&](const std::string& name) { return board_of(name) == board_of(model); });
  if (found == known.end()) return std::nullopt;
  return shipped_gpu(*found, {model, 0, 0});
}

std::vector<KeyInfo> clock_keys() {
  return {{"clock", "the machine's",
           "that a power cap lets its GPUs sustain: what arithmetic bounds takes longer, what "
           "memory bounds does not; at most the clock of their peaks",
           value_info(above(Hertz{}))},
          {"power_limit", "the board's",
           "in place of `clock`: what `nvidia-smi -pl` sets; arithmetic sustains the cube root of "
           "what it leaves beside two fifths of the board's power, which the clock does not change",
           value_info(above(Watts{}))}};
}

Hertz read_clock(YamlMap& map, const std::string& model) {
  const auto clock = map.optional<Hertz>("clock", above(Hertz{0}));
  const auto limit = map.optional<Watts>("power_limit", above(Watts{0}));
  if (!clock && !limit) return {};
  if (clock && limit) {
    map.fail("power_limit", "'clock' and 'power_limit' are both given; expected one of them");
  }
  const std::string key = clock ? "clock" : "power_limit";
  const auto gpu = described_gpu(model);
  if (!gpu || gpu->clock <= Hertz{0} || (limit && gpu->power <= Watts{0})) {
    map.fail(key,
             fmt::format("'{}' is given, but {} of '{}' is not known; expected a GPU whose file "
                         "states it",
                         key, clock ? "the clock of the peaks" : "the power or the clock", model));
  }
  if (limit && *limit > gpu->power) {
    map.fail(key, fmt::format("'power_limit' is {}, and {} has {}; expected at most that",
                              bound_text(*limit), gpu->name, bound_text(gpu->power)));
  }
  if (limit) return gpu->power_share(*limit / gpu->power) * gpu->clock;
  if (*clock > gpu->clock) {
    map.fail(key, fmt::format("'clock' is {}, and {} has its peaks at {}; expected at most that",
                              bound_text(*clock), gpu->name, bound_text(gpu->clock)));
  }
  return *clock;
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
