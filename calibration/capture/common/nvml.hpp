#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gradwire::calibration {

struct NvmlFunctions;

/// One NVLink of a GPU, as the driver tells it.
struct NvmlLink {
  unsigned index = 0;
  bool active = false;
  unsigned version = 0;    ///< of NVLink; 0: unknown
  std::string remote_bus;  ///< PCI address of the other end; empty: unknown (virtual machines)
};

/// What the driver says of a GPU now. An empty optional or text: this GPU or driver does not tell.
struct NvmlGpu {
  unsigned index = 0;  ///< the driver's, before CUDA_VISIBLE_DEVICES
  std::string name;
  std::string uuid;
  std::string bus;  ///< "00000000:18:00.0"
  int compute_major = 0;
  int compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> memory_clock_max_mhz;
  std::optional<std::uint64_t> throttle_reasons;  ///< bits of nvml_throttle
  std::optional<bool> persistence;
  std::optional<bool> mig;
  std::optional<unsigned> temperature_celsius;
  std::optional<unsigned> power_milliwatts;
  std::optional<unsigned> power_limit_milliwatts;
  std::optional<unsigned> pcie_generation;  ///< now: an idle GPU lowers it
  std::optional<unsigned> pcie_generation_max;
  std::optional<unsigned> pcie_width;
  std::optional<unsigned> pcie_width_max;
  std::vector<NvmlLink> links;  ///< those that exist, by index
};

/// Why a clock is below its maximum: bits of nvmlDeviceGetCurrentClocksThrottleReasons (NVML API
/// reference, "NvmlClocksEventReasons").
namespace nvml_throttle {
constexpr std::uint64_t idle = 0x1;
constexpr std::uint64_t application_clocks = 0x2;
constexpr std::uint64_t software_power_cap = 0x4;
constexpr std::uint64_t hardware_slowdown = 0x8;
constexpr std::uint64_t sync_boost = 0x10;
constexpr std::uint64_t software_thermal = 0x20;
constexpr std::uint64_t hardware_thermal = 0x40;
constexpr std::uint64_t hardware_power_brake = 0x80;
constexpr std::uint64_t display_clocks = 0x100;
}  // namespace nvml_throttle

/// The names of the bits that are set: {"software power cap", "hardware thermal slowdown"}; bits
/// that we do not know as "0x200".
std::vector<std::string> throttle_names(std::uint64_t reasons);

/// How close two GPUs are over PCIe (nvmlGpuTopologyLevel_t); the columns of `nvidia-smi topo -m`.
enum class NvmlTopology : int {
  same_board = 0,
  one_switch = 10,     ///< PIX
  many_switches = 20,  ///< PXB
  host_bridge = 30,    ///< PHB
  numa_node = 40,      ///< NODE
  system = 50          ///< SYS
};

/// The driver's management library, found at run time: nvml.h comes with the driver only.
class Nvml {
 public:
  /// Loads `library` and starts it.
  /// @param library libnvidia-ml.so.1 where empty; GRADWIRE_NVML in the environment names another.
  /// @return empty where it cannot be; `why` then says the reason in one line.
  static std::optional<Nvml> open(std::string& why, const std::string& library = {});

  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  /// "580.159.04"; empty where unknown.
  [[nodiscard]] std::string driver_version() const;
  /// Newest CUDA that the driver runs, as 1000 * major + 10 * minor; 0 where unknown.
  [[nodiscard]] int cuda_version() const;
  /// Every GPU of the node that the caller may see, by index. A GPU that cannot be opened is left
  /// out.
  [[nodiscard]] std::vector<NvmlGpu> gpus() const;
  /// Empty where the driver does not tell, or one of them does not exist.
  [[nodiscard]] std::optional<NvmlTopology> topology(unsigned gpu, unsigned other) const;

 private:
  explicit Nvml(std::unique_ptr<NvmlFunctions> functions);
  std::unique_ptr<NvmlFunctions> functions_;  ///< null: moved from
};

}  // namespace gradwire::calibration
