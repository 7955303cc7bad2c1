#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/gpu.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/collective_cost.hpp"

namespace gradwire {

/// What the time of a layer or of other device work is bound by.
enum class Bound : std::uint8_t { product, arithmetic, memory };

/// By a kind of ComputeProfile, or "copy", "encode", "optimizer": matrix products and convolutions
/// are bound by arithmetic, all else streams through memory once or twice.
[[nodiscard]] Bound bound_of(std::string_view kind);

/// What a GPU has that kernels share. 0: unknown, and then nothing slows for want of it.
struct GpuCapacity {
  int multiprocessors = 0;
  BytesPerSecond memory;               ///< that streaming kernels reach
  double products_beside_kernels = 1;  ///< GpuSpec::products_beside_kernels
};
[[nodiscard]] GpuCapacity capacity_of(const GpuSpec& gpu);

/// What communication kernels take of a GPU at one time.
struct GpuLoad {
  int blocks = 0;  ///< each on a multiprocessor of its own
  BytesPerSecond memory;

  bool operator==(const GpuLoad&) const = default;
  GpuLoad& operator+=(const GpuLoad& other);
};
/// Of a kernel that waits for late ranks.
[[nodiscard]] GpuLoad waiting_load(const KernelUse& kernel);
/// Of one whose data move, at the rate at which they do when the collective is uncontended.
[[nodiscard]] GpuLoad moving_load(const CollectiveCost& cost);

/// Factors on the time of compute, >= 1.
struct Slowdown {
  double product = 1;
  double arithmetic = 1;
  double memory = 1;

  [[nodiscard]] double of(Bound bound) const {
    if (bound == Bound::product) return product;
    return bound == Bound::memory ? memory : arithmetic;
  }
};

/// Arithmetic has the multiprocessors that are left: N / (N - blocks), at least half of them:
/// assumed. A block of NCCL takes the registers of a whole one (up to 640 threads,
/// src/include/nccl_common.h). Kernels of many waves of blocks lose that much, those of few do in
/// the mean: one more wave, or none. Matrix products of one wave in which each block computes
/// several tiles lose more (GpuSpec::products_beside_kernels).
///
/// Streaming has the bandwidth that is left: B / (B - load), at least half: requests are served in
/// turn. Some multiprocessors less still fill the memory.
[[nodiscard]] Slowdown slowdown(const GpuCapacity& gpu, const GpuLoad& load);

}  // namespace gradwire
