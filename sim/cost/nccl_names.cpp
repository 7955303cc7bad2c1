#include "sim/cost/nccl_names.hpp"

#include <array>
#include <cstddef>

namespace gradwire {

std::string_view variable_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, nccl_algorithms.size()> names = {
      "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT", ""};
  return names.at(static_cast<std::size_t>(algorithm));
}

std::string_view variable_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, nccl_protocols.size()> names = {"LL", "LL128", "Simple"};
  return names.at(static_cast<std::size_t>(protocol));
}

std::string_view requirement_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return "it needs NCCL 2.4 or later; expected ring";
    case NcclAlgorithm::nvls:
      return "it needs one machine, NVSwitches, three or more GPUs of compute capability 9.0 or "
             "later, two channels and NCCL 2.17 or later; expected ring or tree";
    case NcclAlgorithm::nvls_tree:
      return "it needs several machines, NVSwitches and three or more GPUs in each, of compute "
             "capability 9.0 or later, two channels and NCCL 2.17 or later; expected ring or tree";
    case NcclAlgorithm::pat:
      return "it needs one rank in each machine and NCCL 2.23 or later; expected ring";
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return "it needs several machines and 'collnet: true'; expected ring or tree";
    default:
      return "expected ring";
  }
}

}  // namespace gradwire
