#pragma once

#include <string>
#include <vector>

#include "topologies/importers/node_parts.hpp"
#include "topologies/importers/smi_matrix.hpp"

namespace gradwire {

/// A node read from another source than the matrix, as far as a matrix can be held against it.
struct OtherSource {
  std::string file;
  std::vector<std::string> buses;             ///< PCI bus id of each GPU
  std::vector<std::string> nics;              ///< names, "" where there is none
  std::vector<std::vector<PathClass>> paths;  ///< GPUs, then NICs: pix, pxb, phb or sys
};

/// The lanes that a matrix tells: direct, unless a GPU's lanes to all its peers exceed what its
/// model has; then each GPU has # lanes into an NVSwitch.
/// @param own  lanes of each GPU's model.
[[nodiscard]] NvlinkLanes lanes_of(const SmiMatrix& matrix, const std::vector<int>& own);

/// Holds a matrix of the same machine against another source, see import_nccl_topo.
/// @param lanes  of the other source; taken from the matrix when it has none.
/// @param assumptions  to append to.
/// @throws ConfigError in `matrix_file` where they disagree.
void merge_matrix(const SmiMatrix& matrix, const std::string& matrix_file, const OtherSource& other,
                  const std::vector<int>& own_lanes, NvlinkLanes& lanes,
                  std::vector<std::string>& assumptions);

}  // namespace gradwire
