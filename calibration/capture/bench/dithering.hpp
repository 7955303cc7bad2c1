#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradwire::calibration {

/// A gradient as BytePS's dithering sends it: of each level of QSGD that is not 0 the distance from
/// the one before, its sign and its magnitude; distances and magnitudes in Elias' delta code.
struct Dithered {
  float norm = 0;  ///< |x|_2
  std::size_t bits = 0;
  std::vector<std::uint64_t> words;  ///< the first bit in the highest place
};

/// Encodes into `coded`, whose memory it uses again. Levels and rounding are those of
/// reference::quantise (Alistarh et al. 2017, QSGD, section 3.1); the code is Elias 1975,
/// "Universal codeword sets and representations of the integers", delta, as in
/// byteps/common/compressor/impl/dithering.cc. On one thread.
void dither(std::span<const float> values, int levels, std::uint32_t seed, Dithered& coded);
/// Decodes into `values`, all of them. REQUIRES: made by dither() with these levels from as many.
void undither(const Dithered& coded, int levels, std::span<float> values);

}  // namespace gradwire::calibration
