#include "sim/cost/nccl_constants.hpp"

#include <algorithm>
#include <bit>

namespace gradwire {

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, nccl_algorithms.size()> names = {
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat", "direct"};
  return names.at(static_cast<std::size_t>(algorithm));
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, nccl_protocols.size()> names = {"ll", "ll128", "simple"};
  return names.at(static_cast<std::size_t>(protocol));
}

std::size_t nccl_generation(int capability) {
  constexpr std::array<int, 3> first = {80, 90, 100};  // Ampere, Hopper, Blackwell
  return static_cast<std::size_t>(std::ranges::upper_bound(first, capability) - first.begin());
}

const NcclGeneration& NcclConstants::generation(int capability) const {
  return generations.at(nccl_generation(capability));
}

double nccl_tree_correction(const NcclConstants& constants, NcclProtocol protocol,
                            std::int64_t bytes) {
  if (!constants.has_model) return 1;  // a correction of the model, not of the trees
  const auto blocks = static_cast<std::uint64_t>(bytes) >> 6U;
  if (blocks == 0) return 1;
  const auto index = static_cast<std::size_t>(std::bit_width(blocks)) - 1;
  if (index >= constants.tree_ll_correction.size()) return 1;
  switch (protocol) {
    case NcclProtocol::ll:
      return constants.tree_ll_correction[index];
    case NcclProtocol::ll128:
      return constants.tree_ll128_correction[index];
    case NcclProtocol::simple:
      return constants.tree_simple_correction[index];
  }
  return 1;
}

}  // namespace gradwire
