#include "sim/cost/nccl_nvls.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace gradwire {
namespace {

constexpr double us_per_second = 1e6;

/// Of fewer than `rounds` of all chunks under way, chunks are cut down to `bytes`.
struct ChunkCut {
  double rounds;
  double bytes;
};
constexpr double kib = 1024;
// v2.28, src/enqueue.cc, calcCollChunking; NCCL_NVLS_CHUNKSIZE, in a tree over four machines or
// more NVLSTREE_MAX_CHUNKSIZE.
constexpr double chunk_most = 128 * kib;
constexpr double chunk_most_of_four = 64 * kib;
constexpr std::array<ChunkCut, 3> cuts_of_nvls = {{{64, 64 * kib}, {8, 32 * kib}, {2, 16 * kib}}};
constexpr std::array<ChunkCut, 2> cuts_of_tree = {{{4, 64 * kib}, {1, 32 * kib}}};

/// Bytes of the size that are under way at once: a chunk on each channel and head.
double under_way(const NcclConstants& constants, const NcclSystem& system,
                 const NcclQuestion& question, const NcclFacts& facts) {
  const auto size = static_cast<double>(question.bytes);
  const bool is_tree = question.algorithm == NcclAlgorithm::nvls_tree;
  const NcclGeneration& generation = constants.generation(facts.capability_min);
  const int channels = is_tree ? generation.nvls_tree_channels : generation.nvls_channels;
  const double chunks = static_cast<double>(channels) * system.ranks / system.machines;
  double chunk = system.machines < 4 ? chunk_most : chunk_most_of_four;
  for (const ChunkCut& cut : is_tree ? std::span<const ChunkCut>(cuts_of_tree)
                                     : std::span<const ChunkCut>(cuts_of_nvls)) {
    if (size < cut.rounds * chunks * chunk) chunk = std::min(chunk, cut.bytes);
  }
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
  // A loop's chunks grow with the GPUs, and its time, fitted to 8, with them: 4, 64 and 68 GB200
  // get the same rate.
  constexpr double gpus_of_loop = 8;
  const double loop = generation.nvls_loop * system.ranks / system.machines / gpus_of_loop;
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
