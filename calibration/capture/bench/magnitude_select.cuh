#pragma once

#include <cstdint>

#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {

constexpr unsigned digit_bits = 8;
constexpr unsigned digits = 1U << digit_bits;

/// How far a selection is: the bits of the threshold that are known, and how many of the elements
/// that share them are still to be taken.
struct SelectState {
  std::uint32_t prefix;
  std::uint32_t known;  ///< mask of the bits in `prefix` that are known
  unsigned long long wanted;
};

/// A float's magnitude as bits, which are ordered as magnitudes are.
__device__ inline std::uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7fffffffU;
}

/// Finds the k-th largest magnitude: radix selection, 8 bits a pass, four passes over the elements,
/// one histogram each. Threads of a warp that meet in a bin count once (gradients' exponents fall
/// into few bins). The value is found on the GPU; the host waits for nothing. torch.topk selects by
/// digits as well but sorts what it found; workloads/compressors.py times it.
class MagnitudeSelect {
 public:
  MagnitudeSelect() : state_(1), histogram_(digits) {}

  void launch(const float* values, std::size_t count, std::size_t kept, cudaStream_t stream);
  /// prefix: the threshold's bits; wanted: how many equal to it belong to the k.
  [[nodiscard]] const SelectState* state() const { return state_.data(); }

 private:
  DeviceArray<SelectState> state_;
  DeviceArray<unsigned long long> histogram_;
};

}  // namespace gradwire::calibration
