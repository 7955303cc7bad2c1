#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topologies/importers/nccl_topo.hpp"
#include "topologies/importers/nccl_xml.hpp"
#include "topologies/importers/node_parts.hpp"

namespace gradwire {

/// Where a GPU or a port stands in NCCL's tree.
struct NcclPlace {
  std::size_t cpu = 0;                ///< index in NcclXmlSystem::cpus
  std::vector<const NcclPci*> above;  ///< the bridges over it, outermost first; a card of several
                                      ///< ports is one too
  const NcclPci* pci = nullptr;       ///< nullptr: a port of no PCI device
  const NcclNet* net = nullptr;       ///< of a port, nullptr when the file has none
};

/// The devices of a file in the order in which we count them. The NcclXmlSystem must outlive it.
struct NcclDevices {
  std::vector<NcclPlace> gpus;
  std::vector<NcclPlace> nics;
  std::vector<std::string> models;  ///< of each GPU
};

/// What a path between two devices crosses, as far as the file tells: pix, pxb, phb or sys.
[[nodiscard]] PathClass path_between(const NcclPlace& a, const NcclPlace& b);

/// The file's GPUs and ports, without those to leave out. @param told  to append to.
/// @throws ConfigError for no GPU, a model that nothing tells, a NIC to leave out that is not
/// there.
[[nodiscard]] NcclDevices find_devices(const LinkTables& links, const NcclXmlSystem& system,
                                       const std::string& file, const NcclTopoOptions& options,
                                       Told& told);

/// The payload bandwidths of a file's PCIe links.
class NcclSlots {
 public:
  /// All must outlive it. REQUIRES: known models.
  NcclSlots(const LinkTables& links, const NcclDevices& devices, Told& told)
      : links_(links), devices_(devices), told_(told) {}

  /// As written, but not more than the GPU's model has; of that where nothing usable is written.
  [[nodiscard]] BytesPerSecond of_gpu(std::size_t gpu) const;
  /// As written, PCIe 3 where nothing usable is (NCCL's rule).
  [[nodiscard]] BytesPerSecond of_nic(const NcclPlace& nic) const;
  /// As written; a bridge slower than any real one carries what the widest link below it does.
  [[nodiscard]] BytesPerSecond of_switch(const NcclPci& pci) const;

 private:
  [[nodiscard]] BytesPerSecond written(const NcclPci& pci, const WireKind& fallback) const;

  const LinkTables& links_;
  const NcclDevices& devices_;
  Told& told_;
};

}  // namespace gradwire
