#include "sim/cost/nccl_nvls.hpp"

#include <algorithm>
#include <cstddef>

namespace gradwire {
namespace {

/// Bytes of the size that are under way at once: a chunk on each channel and head.
double under_way(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, const NcclFacts& facts) {
  const auto size = static_cast<double>(question.bytes);
  const bool is_tree = question.algorithm == NcclAlgorithm::nvls_tree;
  const NcclGeneration& generation = constants.generation(facts.capability_min);
  const int channels = is_tree ? generation.nvls_tree_channels : generation.nvls_channels;
  const double chunks = static_cast<double>(channels) * system.ranks / system.machines;
  const NcclMeasured& cuts = constants.measured;
  double chunk = cuts.nvls_chunk[system.machines < 4 ? 0 : 1];
  const auto cut = [&](const auto& rounds, const auto& bytes) {
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (size < rounds[i] * chunks * chunk) chunk = std::min(chunk, bytes[i]);
    }
  };
  is_tree ? cut(cuts.nvls_tree_cut_rounds, cuts.nvls_tree_cut_chunk)
          : cut(cuts.nvls_cut_rounds, cuts.nvls_cut_chunk);
  return std::min(size, chunks * chunk);
}

}  // namespace

double nccl_nvls_links(const NcclConstants& constants, const NcclSystem& system,
                       const NcclQuestion& question, const NcclFacts& facts) {
  if (question.bytes == 0) return 0;
  const auto size = static_cast<double>(question.bytes);
  const NcclGeneration& generation = constants.generation(facts.capability_min);
  const bool is_tree = question.algorithm == NcclAlgorithm::nvls_tree;
  const double link = is_tree ? generation.nvls_tree_link : generation.nvls_link;
  // A loop's chunks grow with the GPUs, and its time with them: 4, 64 and 68 GB200 get the same
  // rate. Switches reduce for no fewer than three.
  const double gpus = static_cast<double>(system.ranks) / system.machines;
  const double loop = generation.nvls_loop * (gpus - generation.nvls_loop_free) /
                      (generation.nvls_loop_gpus - generation.nvls_loop_free);
  return size * facts.nvlink_per_byte.count() * us_per_second / link +
         size / under_way(constants, system, question, facts) * loop;
}

double nccl_nvls_fill(const NcclConstants& constants, const NcclSystem& system,
                      const NcclQuestion& question, const NcclFacts& facts, int levels,
                      Seconds network) {
  if (!is_nvls(question.algorithm)) return 0;
  Seconds all = 2 * facts.nvlink_per_byte;
  if (question.algorithm == NcclAlgorithm::nvls_tree) {
    const Seconds hop = (1 / tree_traffic(system.machines)) * network;
    const Seconds stage = 0.5 * facts.nvlink_per_byte;
    all = 2 * levels * hop + 4 * stage - std::max(hop, stage);
  }
  return under_way(constants, system, question, facts) * all.count() * us_per_second;
}

}  // namespace gradwire
