#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

/// What a path between two devices crosses, as `nvidia-smi topo -m` prints it, nearest first.
/// NV# hides the PCIe class, a missing row too: `unknown`.
enum class PathClass : std::uint8_t { self, pix, pxb, phb, node, sys, unknown };

struct SmiCell {
  PathClass path = PathClass::unknown;
  int nvlinks = 0;  ///< of NV#
};

struct SmiDevice {
  std::string name;          ///< "GPU0", "mlx5_0" (NIC0 replaced by its legend)
  std::string cpu_affinity;  ///< as printed, "" when blank
  int numa = -1;             ///< NUMA affinity, -1 when blank, N/A or a range
  std::string bus;           ///< PCI bus id (pci_bus_id) of a GPU, "" when the text has none
  bool has_row = false;      ///< false: the text was cut off before it
};

/// The matrix of `nvidia-smi topo -m`: GPUs first, then NICs, each in order of its number.
struct SmiMatrix {
  int gpus = 0;
  std::vector<SmiDevice> devices;
  std::vector<std::vector<SmiCell>> cells;  ///< [device][device], symmetric
};

/// Reads the matrix; text before and after it, ANSI escapes and lost tabs are tolerated. Bus ids
/// are found in such text: the table of plain `nvidia-smi`, or the lines of `nvidia-smi
/// --query-gpu=index,pci.bus_id --format=csv`.
/// @throws ConfigError with the place in `file`: no header, a cell that is none of X NV# PIX PXB
///         PHB NODE SYS (SOC), a row of the wrong length, a device's name that stands twice, a
///         diagonal that is not X, two halves that differ, a GPU pair that no row tells (text cut
///         off).
[[nodiscard]] SmiMatrix read_smi_matrix(std::string_view text, const std::string& file);

/// The matrix without these NICs.
/// @throws ConfigError in `file` for a name that is none of its NICs, with the nearest.
[[nodiscard]] SmiMatrix without_nics(const SmiMatrix& matrix, const std::vector<std::string>& names,
                                     const std::string& file);

}  // namespace gradwire
