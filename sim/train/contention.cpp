#include "sim/train/contention.hpp"

#include <algorithm>

namespace gradwire {
namespace {

/// What communication kernels take at most of the multiprocessors. Assumed: of more blocks than
/// that some wait for compute's to end.
constexpr double blocks_share_max = 0.5;
/// What they take at most of the memory's bandwidth: requests of both are served in turn.
constexpr double memory_share_max = 0.5;

}  // namespace

Bound bound_of(std::string_view kind) {
  if (kind == "linear") return Bound::product;
  const bool convolves = kind.starts_with("conv") || kind == "grouped_conv";
  return convolves ? Bound::arithmetic : Bound::memory;
}

GpuCapacity capacity_of(const GpuSpec& gpu) {
  return {.multiprocessors = gpu.multiprocessors,
          .memory = gpu.memory_efficiency * gpu.memory_bandwidth,
          .products_beside_kernels = gpu.products_beside_kernels};
}

GpuLoad& GpuLoad::operator+=(const GpuLoad& other) {
  blocks += other.blocks;
  memory += other.memory;
  return *this;
}

GpuLoad waiting_load(const KernelUse& kernel) {
  return {.blocks = kernel.blocks, .memory = {}};
}

GpuLoad moving_load(const CollectiveCost& cost) {
  GpuLoad load = waiting_load(cost.kernel);
  if (cost.uncontended && *cost.uncontended > Seconds{0})
    load.memory = cost.kernel.traffic / *cost.uncontended;
  return load;
}

Slowdown slowdown(const GpuCapacity& gpu, const GpuLoad& load) {
  Slowdown result;
  if (gpu.multiprocessors > 0) {
    const double taken = static_cast<double>(load.blocks) / gpu.multiprocessors;
    result.arithmetic = 1 / (1 - std::min(taken, blocks_share_max));
    result.product = result.arithmetic * (load.blocks > 0 ? gpu.products_beside_kernels : 1);
  }
  if (gpu.memory > BytesPerSecond{0}) {
    result.memory = 1 / (1 - std::min(load.memory / gpu.memory, memory_share_max));
  }
  return result;
}

}  // namespace gradwire
