#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "calibration/capture/bench/cuda_support.hpp"

namespace gradwire::calibration {

constexpr unsigned block_threads = 256;
constexpr unsigned warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffffU;

/// Blocks for a loop with the grid's stride over `count` items: enough to fill the largest GPU of
/// today several times (132 SMs, 8 blocks of 256 threads each), no more.
inline unsigned grid_blocks(std::size_t count) {
  constexpr std::size_t blocks_max = 4096;
  return static_cast<unsigned>(
      std::clamp<std::size_t>((count + block_threads - 1) / block_threads, 1, blocks_max));
}

__device__ inline std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t thread_count() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

/// Adds a value of each thread of the block to *sum. Every thread must come here.
__device__ inline void add_of_block(float value, double* sum) {
  __shared__ float parts[block_threads / warp_threads];
  for (unsigned offset = warp_threads / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(whole_warp, value, offset);
  }
  if (threadIdx.x % warp_threads == 0) parts[threadIdx.x / warp_threads] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (const float part : parts) total += part;
    atomicAdd(sum, total);
  }
}

/// A launch's own error, which no later call would name.
inline void check_launch(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

}  // namespace gradwire::calibration
