#include <optional>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/host_facts.hpp"
#include "calibration/capture/bench/nccl_api.hpp"
#include "calibration/capture/common/dynamic_library.hpp"
#include "calibration/capture/common/nvml.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

/// A member where something is known, else none.
template <class Value>
void maybe(JsonWriter& json, const char* name, const std::optional<Value>& value) {
  if (value) json.member(name, *value);
}

void write_host(JsonWriter& json, const HostFacts& facts) {
  json.key("host").begin_object();
  json.member("name", host_name())
      .member("kernel", facts.kernel)
      .member("cpu", facts.cpu)
      .member("cpus", facts.cpus)
      .member("sockets", facts.sockets)
      .member("memory_bytes", facts.memory_bytes);
  json.key("numa").begin_list();
  for (const NumaNode& node : facts.numa) {
    json.begin_object().member("id", node.id).member("cpus", node.cpus).end_object();
  }
  json.end_list().key("cards").begin_list();
  for (const NetworkCard& card : facts.cards) {
    json.begin_object()
        .member("name", card.name)
        .member("kind", card.kind)
        .member("rate_bits_per_s", card.rate_bits_per_s)
        .member("bus", card.bus);
    maybe(json, "numa", card.numa);
    json.end_object();
  }
  json.end_list().end_object();
}

void write_versions(JsonWriter& json, const std::optional<Nvml>& nvml) {
  int runtime = 0;
  int driver = 0;
  GRADWIRE_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  GRADWIRE_CUDA_CHECK(cudaDriverGetVersion(&driver));
  json.key("versions").begin_object();
  if (nvml) json.member("driver", nvml->driver_version());
  json.member("cuda_driver", driver).member("cuda_runtime", runtime);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    const DynamicLibrary library = DynamicLibrary::load(name);
    int (*get_version)(std::uint32_t*) = nullptr;
    std::uint32_t version = 0;
    if (!library.find("cuptiGetVersion", get_version) || get_version(&version) != 0) continue;
    json.member("cupti", version);
    break;
  }
  try {
    json.member("nccl", NcclApi().version());
  } catch (const DeviceError&) {  // a node of one GPU needs none
    json.member("nccl", "");
  }
  json.end_object();
}

void write_links(JsonWriter& json, const NvmlGpu& gpu) {
  json.key("nvlinks").begin_list();
  for (const NvmlLink& link : gpu.links) {
    json.begin_object()
        .member("index", link.index)
        .member("active", link.active)
        .member("version", link.version)
        .member("remote_bus", link.remote_bus)
        .end_object();
  }
  json.end_list();
}

void write_driver_facts(JsonWriter& json, const NvmlGpu& gpu) {
  json.member("uuid", gpu.uuid).member("memory_bytes", gpu.memory_bytes);
  maybe(json, "sm_clock_mhz", gpu.sm_clock_mhz);
  maybe(json, "sm_clock_max_mhz", gpu.sm_clock_max_mhz);
  maybe(json, "memory_clock_mhz", gpu.memory_clock_mhz);
  maybe(json, "memory_clock_max_mhz", gpu.memory_clock_max_mhz);
  maybe(json, "persistence", gpu.persistence);
  maybe(json, "mig", gpu.mig);
  maybe(json, "temperature_celsius", gpu.temperature_celsius);
  maybe(json, "power_milliwatts", gpu.power_milliwatts);
  maybe(json, "power_limit_milliwatts", gpu.power_limit_milliwatts);
  maybe(json, "pcie_generation", gpu.pcie_generation);
  maybe(json, "pcie_generation_max", gpu.pcie_generation_max);
  maybe(json, "pcie_width", gpu.pcie_width);
  maybe(json, "pcie_width_max", gpu.pcie_width_max);
  if (gpu.throttle_reasons) {
    json.key("throttle_reasons").begin_list();
    for (const std::string& reason : throttle_names(*gpu.throttle_reasons)) json.value(reason);
    json.end_list();
  }
  write_links(json, gpu);
}

void write_gpu(JsonWriter& json, const DeviceInfo& info, const std::vector<NvmlGpu>& driver) {
  json.begin_object()
      .member("index", info.index)
      .member("name", info.name)
      .member("bus", info.bus)
      .member("compute_capability",
              std::to_string(info.compute_major) + "." + std::to_string(info.compute_minor))
      .member("multiprocessors", info.multiprocessors)
      .member("memory_bandwidth_bytes_per_s", info.memory_bandwidth);
  for (const NvmlGpu& gpu : driver) {
    if (bus_key(gpu.bus) == bus_key(info.bus)) write_driver_facts(json, gpu);
  }
  json.end_object();
}

/// How close each pair is over PCIe, by NVML's levels, and whether one can read the other's memory.
void write_pairs(JsonWriter& json, int count, const std::optional<Nvml>& nvml,
                 const std::vector<NvmlGpu>& driver) {
  const auto driver_index = [&](int index) -> std::optional<unsigned> {
    const std::string bus = bus_key(device_info(index).bus);
    for (const NvmlGpu& gpu : driver) {
      if (bus_key(gpu.bus) == bus) return gpu.index;
    }
    return std::nullopt;
  };
  json.key("pairs").begin_list();
  for (int first = 0; first < count; ++first) {
    for (int second = 0; second < count; ++second) {
      if (first == second) continue;
      int can = 0;
      GRADWIRE_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, first, second));
      json.begin_object()
          .member("from", first)
          .member("to", second)
          .member("peer_access", can != 0);
      const auto from = driver_index(first);
      const auto to = driver_index(second);
      if (nvml && from && to) {
        const auto level = nvml->topology(*from, *to);
        if (level) json.member("nvml_level", static_cast<int>(*level));
      }
      json.end_object();
    }
  }
  json.end_list();
}

}  // namespace

int run_node(const std::vector<std::string>& words) {
  const Arguments arguments({{"--output", "node.json", "file"}}, words);
  const int count = require_devices();
  std::string why;
  const std::optional<Nvml> nvml = Nvml::open(why);
  const std::vector<NvmlGpu> driver = nvml ? nvml->gpus() : std::vector<NvmlGpu>();
  JsonWriter json;
  begin_record(json, "gradwire.node/1");
  write_host(json, read_host_facts());
  write_versions(json, nvml);
  if (!nvml) json.member("nvml_missing", why);
  json.key("gpus").begin_list();
  for (int index = 0; index < count; ++index) write_gpu(json, device_info(index), driver);
  json.end_list();
  write_pairs(json, count, nvml, driver);
  json.end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return exit_done;
}

}  // namespace gradwire::calibration
