#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GRADWIRE_HOST_DEVICE __host__ __device__
#else
#define GRADWIRE_HOST_DEVICE
#endif

namespace gradwire::calibration {

/// Mixes 32 bits: the finaliser of MurmurHash3 (Appleby, public domain). The same on host and GPU,
/// so that a kernel's random choices can be checked.
GRADWIRE_HOST_DEVICE constexpr std::uint32_t mixed(std::uint32_t bits) {
  bits ^= bits >> 16;
  bits *= 0x85ebca6bU;
  bits ^= bits >> 13;
  bits *= 0xc2b2ae35U;
  return bits ^ (bits >> 16);
}

/// In [0, 1), a multiple of 2^-24; one for each index and seed.
GRADWIRE_HOST_DEVICE constexpr float uniform(std::uint32_t index, std::uint32_t seed) {
  return static_cast<float>(mixed(index * 0x9e3779b9U + mixed(seed)) >> 8) * 0x1p-24F;
}

/// A made-up gradient: nearly normal (the sum of four uniform draws), of mean 0 and standard
/// deviation 0.58e-3. Adds multiples of 2^-24 below 4: host and GPU agree but for the last factor's
/// rounding, which is the same on both.
GRADWIRE_HOST_DEVICE constexpr float gradient_value(std::uint32_t index, std::uint32_t seed) {
  float sum = -2;
  for (std::uint32_t draw = 0; draw < 4; ++draw) sum += uniform(index, seed * 4 + draw);
  return sum * 1e-3F;
}

}  // namespace gradwire::calibration
