#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// `<nvlink>` of a GPU.
struct NcclNvlink {
  SourceLocation where;
  std::string target;        ///< PCI bus id, see pci_bus_id
  std::string target_class;  ///< "0x068000" NVSwitch, "0x068001" processor, "0x0302.." GPU, or ""
  int count = 1;
};

/// `<c2c>` of a GPU: its link to its own processor.
struct NcclC2c {
  int count = 1;
  BytesPerSecond bandwidth;  ///< of one, one direction
};

/// `<gpu>`
struct NcclXmlGpu {
  int dev = -1;   ///< NVML's number, -1 when not written
  int rank = -1;  ///< -1: took no part in the communicator that wrote the file
  std::vector<NcclNvlink> nvlinks;
  std::optional<NcclC2c> c2c;
};

/// `<net>`: one port.
struct NcclNet {
  SourceLocation where;
  std::string name;
  int dev = -1;                         ///< -1 when not written
  std::optional<BytesPerSecond> speed;  ///< as sold; absent when not written or not positive
  bool gdr = true;                      ///< false: gdr="0", no GPUDirect RDMA
};

enum class PciKind : std::uint8_t { gpu, nic, bridge, other };

/// `<pci>`
struct NcclPci {
  SourceLocation where;
  std::string bus;  ///< see pci_bus_id
  PciKind kind = PciKind::other;
  bool infiniband = false;   ///< by its class
  std::string vendor;        ///< "0x10de", "" when not written
  std::string device;        ///< "0x20b0", "" when not written
  std::string speed_text;    ///< link_speed as written
  double gigatransfers = 0;  ///< of link_speed; 0 when not written or no number
  int width = 0;             ///< lanes; 0 when not written
  bool side_links = false;   ///< it has <pcilink>
  std::optional<NcclXmlGpu> gpu;
  std::vector<NcclNet> nets;
  std::vector<NcclPci> children;
};

/// `<cpu>`: a NUMA node.
struct NcclCpu {
  SourceLocation where;
  int numa = -1;  ///< -1: hidden, as in virtual machines
  std::string arch;
  std::string vendor;
  int family = -1;
  int model = -1;
  std::vector<NcclPci> pci;
  std::vector<NcclNet> nets;  ///< ports of no PCI device
};

/// `<system>`: what NCCL writes with NCCL_TOPO_DUMP_FILE and reads with NCCL_TOPO_FILE.
struct NcclXmlSystem {
  std::vector<NcclCpu> cpus;
};

/// Reads NCCL's topology XML (system version 1); gpu and net may be missing, as in files written by
/// hand, and then the class of the PCI device tells. Attributes that no simulation uses are
/// skipped.
/// @throws ConfigError with the place in `file`: not XML, another root (a graph file), an element
///         that NCCL does not have there, a missing bus id, a number that is none, a bus id or a
///         GPU's or port's `dev` that stands twice, several hosts.
[[nodiscard]] NcclXmlSystem read_nccl_xml(std::string_view text, const std::string& file);

}  // namespace gradwire
