#include "strategies/compression/top_k.hpp"

namespace gradwire {
namespace {

constexpr Release oldest_release{0, 1};  ///< any: one block
constexpr Release sorts_from{1, 11};
constexpr Release many_blocks_from{1, 12};
/// One block: 25.6 ms for 2 10^6 random numbers, k = 1000, on a Quadro GP100 with PyTorch 1.1
/// (pytorch/pytorch issue 22812). ddl-benchmarks' 4.997e-10 n log2 n of a V100 (mgwfbp/utils.py:
/// 62-63) says 20.9 ms of as many.
constexpr Seconds one_block_time{12.8e-9};
/// 20.7 to 24.9 times as fast as one block, 10^6 numbers and k up to 10^5 (pull request 68632).
constexpr double sort_gain = 22;
constexpr int sort_kernels = 20;  ///< assumed: four digits, each counted, scanned and scattered

/// The four digits of a float, and what is gathered.
constexpr int radix_readings = 5;
/// What these leave unexplained, counters in shared memory: 3.56 ms for 10^8 numbers on an H20
/// (PyTorch 2.6, pull request 164459), less five readings of 0.4 GB at 4 TB/s. Assumed for every
/// GPU.
constexpr Seconds radix_time{30.6e-12};
/// Find and count of each digit, ranks of blocks, gather, and the sort of what is kept; assumed.
constexpr int radix_kernels = 20;
/// Four digits; a float and an index of 8 bytes are read and written for each.
constexpr std::int64_t kept_sort_traffic = std::int64_t{4} * 2 * 12;

}  // namespace

CodecWork top_k(std::int64_t elements, std::int64_t kept, Release pytorch) {
  const auto n = static_cast<double>(elements);
  const Bytes sorted{kept * kept_sort_traffic};
  if (pytorch >= many_blocks_from) {
    return {.traffic = radix_readings * fp32_size(elements) + sorted,
            .kernels = radix_kernels,
            .time = n * radix_time};
  }
  if (pytorch >= sorts_from) {
    return {.kernels = sort_kernels, .time = n / sort_gain * one_block_time};
  }
  constexpr int one_block_kernels = 3;  // the selection, and the sort of what is kept
  return {.traffic = sorted, .kernels = one_block_kernels, .time = n * one_block_time};
}

Release read_pytorch(Knobs& knobs) {
  return read_release(
      knobs, "pytorch", "1.12", "PyTorch", oldest_release,
      "release whose torch.topk selects: one thread block before 1.11 (issue 22812), a "
      "sort in 1.11 (68632), many blocks from 1.12 on (71081)");
}

}  // namespace gradwire
