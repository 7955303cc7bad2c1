#include "calibration/capture/common/nvml.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "calibration/capture/common/dynamic_library.hpp"

namespace gradwire::calibration {

// Our own declarations of what we call, from the NVML API reference (docs.nvidia.com/deploy/
// nvml-api). Return codes and enumerations are ints there; a device is an opaque pointer.
namespace {

using Result = int;
constexpr Result success = 0;
constexpr Result driver_not_loaded = 9;
constexpr Result version_mismatch = 18;
using Device = void*;  // nvmlDevice_t, opaque

constexpr std::size_t text_size = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, ..._UUID_V2_...
constexpr int clock_sm = 1;            // NVML_CLOCK_SM
constexpr int clock_memory = 2;        // NVML_CLOCK_MEM
constexpr int temperature_gpu = 0;     // NVML_TEMPERATURE_GPU
constexpr unsigned links_max = 18;     // NVML_NVLINK_MAX_LINKS

struct PciInfo {  // nvmlPciInfo_t
  std::array<char, 16> bus_legacy;
  unsigned domain;
  unsigned bus_number;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus;
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {  // nvmlMemory_t
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

using GetUnsigned = Result(Device, unsigned*);
using GetInt = Result(Device, int*);
using GetClock = Result(Device, int, unsigned*);
using GetText = Result(Device, char*, unsigned);

}  // namespace

struct NvmlFunctions {
  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*cuda_version)(int*) = nullptr;
  Result (*count)(unsigned*) = nullptr;
  Result (*handle)(unsigned, Device*) = nullptr;
  GetText* name = nullptr;
  GetText* uuid = nullptr;
  Result (*pci)(Device, void*) = nullptr;  // PciInfo
  Result (*compute)(Device, int*, int*) = nullptr;
  Result (*memory)(Device, void*) = nullptr;  // Memory
  GetClock* clock = nullptr;
  GetClock* clock_max = nullptr;
  Result (*throttle)(Device, unsigned long long*) = nullptr;
  GetInt* persistence = nullptr;
  Result (*mig)(Device, unsigned*, unsigned*) = nullptr;
  GetClock* temperature = nullptr;
  GetUnsigned* power = nullptr;
  GetUnsigned* power_limit = nullptr;
  GetUnsigned* pcie_generation = nullptr;
  GetUnsigned* pcie_generation_max = nullptr;
  GetUnsigned* pcie_width = nullptr;
  GetUnsigned* pcie_width_max = nullptr;
  Result (*link_state)(Device, unsigned, int*) = nullptr;
  Result (*link_version)(Device, unsigned, unsigned*) = nullptr;
  Result (*link_remote)(Device, unsigned, void*) = nullptr;  // PciInfo
  Result (*ancestor)(Device, Device, int*) = nullptr;
};

namespace {

/// Those without which nothing can be said; the others may be missing in old or cut-down drivers.
bool find_required(const DynamicLibrary& library, NvmlFunctions& functions) {
  return library.find("nvmlInit_v2", functions.init) &&
         library.find("nvmlShutdown", functions.shutdown) &&
         library.find("nvmlErrorString", functions.error_string) &&
         library.find("nvmlDeviceGetCount_v2", functions.count) &&
         library.find("nvmlDeviceGetHandleByIndex_v2", functions.handle);
}

void find_optional(const DynamicLibrary& library, NvmlFunctions& functions) {
  library.find("nvmlSystemGetDriverVersion", functions.driver_version);
  library.find("nvmlSystemGetCudaDriverVersion_v2", functions.cuda_version);
  library.find("nvmlDeviceGetName", functions.name);
  library.find("nvmlDeviceGetUUID", functions.uuid);
  library.find("nvmlDeviceGetPciInfo_v3", functions.pci);
  library.find("nvmlDeviceGetCudaComputeCapability", functions.compute);
  library.find("nvmlDeviceGetMemoryInfo", functions.memory);
  library.find("nvmlDeviceGetClockInfo", functions.clock);
  library.find("nvmlDeviceGetMaxClockInfo", functions.clock_max);
  // Renamed in driver 535; the old name is still exported by newer ones, but may go.
  if (!library.find("nvmlDeviceGetCurrentClocksEventReasons", functions.throttle)) {
    library.find("nvmlDeviceGetCurrentClocksThrottleReasons", functions.throttle);
  }
  library.find("nvmlDeviceGetPersistenceMode", functions.persistence);
  library.find("nvmlDeviceGetMigMode", functions.mig);
  library.find("nvmlDeviceGetTemperature", functions.temperature);
  library.find("nvmlDeviceGetPowerUsage", functions.power);
  library.find("nvmlDeviceGetEnforcedPowerLimit", functions.power_limit);
  library.find("nvmlDeviceGetCurrPcieLinkGeneration", functions.pcie_generation);
  library.find("nvmlDeviceGetMaxPcieLinkGeneration", functions.pcie_generation_max);
  library.find("nvmlDeviceGetCurrPcieLinkWidth", functions.pcie_width);
  library.find("nvmlDeviceGetMaxPcieLinkWidth", functions.pcie_width_max);
  library.find("nvmlDeviceGetNvLinkState", functions.link_state);
  library.find("nvmlDeviceGetNvLinkVersion", functions.link_version);
  library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", functions.link_remote);
  library.find("nvmlDeviceGetTopologyCommonAncestor", functions.ancestor);
}

std::optional<unsigned> value_of(GetUnsigned* get, Device device) {
  unsigned value = 0;
  if (get == nullptr || get(device, &value) != success) return std::nullopt;
  return value;
}

std::optional<unsigned> value_of(GetClock* get, Device device, int which) {
  unsigned value = 0;
  if (get == nullptr || get(device, which, &value) != success) return std::nullopt;
  return value;
}

std::string text_of(GetText* get, Device device) {
  std::array<char, text_size> text{};
  if (get == nullptr || get(device, text.data(), text_size) != success) return {};
  text.back() = '\0';
  return text.data();
}

std::vector<NvmlLink> links_of(const NvmlFunctions& functions, Device device) {
  std::vector<NvmlLink> links;
  if (functions.link_state == nullptr) return links;
  for (unsigned index = 0; index < links_max; ++index) {
    int active = 0;
    if (functions.link_state(device, index, &active) != success) continue;  // it has fewer
    NvmlLink link;
    link.index = index;
    link.active = active != 0;
    PciInfo remote{};
    if (functions.link_version != nullptr) functions.link_version(device, index, &link.version);
    if (functions.link_remote != nullptr &&
        functions.link_remote(device, index, &remote) == success) {
      remote.bus.back() = '\0';
      link.remote_bus = remote.bus.data();
    }
    links.push_back(link);
  }
  return links;
}

/// What changes while a program runs.
void read_state(const NvmlFunctions& functions, Device device, NvmlGpu& gpu) {
  gpu.sm_clock_mhz = value_of(functions.clock, device, clock_sm);
  gpu.memory_clock_mhz = value_of(functions.clock, device, clock_memory);
  gpu.temperature_celsius = value_of(functions.temperature, device, temperature_gpu);
  gpu.power_milliwatts = value_of(functions.power, device);
  gpu.power_limit_milliwatts = value_of(functions.power_limit, device);
  gpu.pcie_generation = value_of(functions.pcie_generation, device);
  gpu.pcie_width = value_of(functions.pcie_width, device);
  unsigned long long reasons = 0;
  if (functions.throttle != nullptr && functions.throttle(device, &reasons) == success) {
    gpu.throttle_reasons = reasons;
  }
}

NvmlGpu read_gpu(const NvmlFunctions& functions, unsigned index, Device device) {
  NvmlGpu gpu;
  gpu.index = index;
  gpu.name = text_of(functions.name, device);
  gpu.uuid = text_of(functions.uuid, device);
  PciInfo pci{};
  if (functions.pci != nullptr && functions.pci(device, &pci) == success) {
    pci.bus.back() = '\0';
    gpu.bus = pci.bus.data();
  }
  if (functions.compute != nullptr) {
    functions.compute(device, &gpu.compute_major, &gpu.compute_minor);
  }
  Memory memory{};
  if (functions.memory != nullptr && functions.memory(device, &memory) == success) {
    gpu.memory_bytes = memory.total;
  }
  gpu.sm_clock_max_mhz = value_of(functions.clock_max, device, clock_sm);
  gpu.memory_clock_max_mhz = value_of(functions.clock_max, device, clock_memory);
  gpu.pcie_generation_max = value_of(functions.pcie_generation_max, device);
  gpu.pcie_width_max = value_of(functions.pcie_width_max, device);
  int persistence = 0;
  if (functions.persistence != nullptr && functions.persistence(device, &persistence) == success) {
    gpu.persistence = persistence != 0;
  }
  unsigned mig = 0;
  unsigned mig_pending = 0;
  if (functions.mig != nullptr && functions.mig(device, &mig, &mig_pending) == success) {
    gpu.mig = mig != 0;
  }
  read_state(functions, device, gpu);
  gpu.links = links_of(functions, device);
  return gpu;
}

std::string why_not_started(const NvmlFunctions& functions, Result result) {
  if (result == driver_not_loaded) return "the NVIDIA driver is not loaded";
  if (result == version_mismatch) {
    return "the NVIDIA driver's library and kernel module differ in version; expected one reboot "
           "after an update of the driver";
  }
  return std::string("NVML does not start: ") + functions.error_string(result);
}

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 9> names{{
      {nvml_throttle::idle, "idle"},
      {nvml_throttle::application_clocks, "application clocks"},
      {nvml_throttle::software_power_cap, "software power cap"},
      {nvml_throttle::hardware_slowdown, "hardware slowdown"},
      {nvml_throttle::sync_boost, "sync boost"},
      {nvml_throttle::software_thermal, "software thermal slowdown"},
      {nvml_throttle::hardware_thermal, "hardware thermal slowdown"},
      {nvml_throttle::hardware_power_brake, "hardware power brake"},
      {nvml_throttle::display_clocks, "display clocks"},
  }};
  std::vector<std::string> found;
  for (const auto& [bit, name] : names) {
    if ((reasons & bit) != 0) found.emplace_back(name);
    reasons &= ~bit;
  }
  if (reasons != 0) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(reasons));
    found.emplace_back(text.data());
  }
  return found;
}

std::optional<Nvml> Nvml::open(std::string& why, const std::string& library) {
  std::string name = library;
  const char* other = std::getenv("GRADWIRE_NVML");
  if (name.empty()) name = other != nullptr ? other : "libnvidia-ml.so.1";
  const DynamicLibrary found = DynamicLibrary::load(name);
  if (!found.is_open()) {
    why = "no NVIDIA driver: " + found.error();
    return std::nullopt;
  }
  auto functions = std::make_unique<NvmlFunctions>();
  if (!find_required(found, *functions)) {
    why = name + " is not NVIDIA's management library, or older than driver 450";
    return std::nullopt;
  }
  find_optional(found, *functions);
  const Result result = functions->init();
  if (result != success) {
    why = why_not_started(*functions, result);
    return std::nullopt;
  }
  return Nvml(std::move(functions));
}

Nvml::Nvml(std::unique_ptr<NvmlFunctions> functions) : functions_(std::move(functions)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&& other) noexcept {
  std::swap(functions_, other.functions_);
  return *this;
}
Nvml::~Nvml() {
  if (functions_) functions_->shutdown();
}

std::string Nvml::driver_version() const {
  std::array<char, text_size> text{};
  if (functions_->driver_version == nullptr ||
      functions_->driver_version(text.data(), text_size) != success) {
    return {};
  }
  text.back() = '\0';
  return text.data();
}

int Nvml::cuda_version() const {
  int version = 0;
  if (functions_->cuda_version == nullptr || functions_->cuda_version(&version) != success) {
    return 0;
  }
  return version;
}

std::vector<NvmlGpu> Nvml::gpus() const {
  std::vector<NvmlGpu> gpus;
  unsigned count = 0;
  if (functions_->count(&count) != success) return gpus;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    if (functions_->handle(index, &device) != success) continue;
    gpus.push_back(read_gpu(*functions_, index, device));
  }
  return gpus;
}

std::optional<NvmlTopology> Nvml::topology(unsigned gpu, unsigned other) const {
  Device first = nullptr;
  Device second = nullptr;
  int level = 0;
  if (functions_->ancestor == nullptr || functions_->handle(gpu, &first) != success ||
      functions_->handle(other, &second) != success ||
      functions_->ancestor(first, second, &level) != success) {
    return std::nullopt;
  }
  return static_cast<NvmlTopology>(level);
}

}  // namespace gradwire::calibration
