#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/magnitude_select.cuh"

namespace gradwire::calibration {

/// max(int(n * density), 1), as ddl-benchmarks counts what is kept.
inline std::size_t kept_of(const CodecOptions& options) {
  const double kept = static_cast<double>(options.elements) * options.density;
  return std::max<std::size_t>(static_cast<std::size_t>(kept), 1);
}

/// A part of the elements as values and indexes, in no order, and how many there are.
struct SparseBuffers {
  explicit SparseBuffers(std::size_t capacity) : values(capacity), indexes(capacity), count(1) {}
  DeviceArray<float> values;
  DeviceArray<std::uint32_t> indexes;
  DeviceArray<unsigned long long> count;
};

/// Zeroes the result and adds the elements to it.
void scatter(const SparseBuffers& sparse, const DeviceArray<float>& restored, cudaStream_t stream);

/// Compares elements in no order with a dense gradient of which they are a part, and with the
/// result of scatter(): every index once, its value as in `dense`, the others 0.
/// @return what differs, "" when nothing does
[[nodiscard]] std::string check_part(const SparseBuffers& sparse,
                                     const DeviceArray<float>& restored,
                                     const std::vector<float>& dense, std::size_t expected_count);

}  // namespace gradwire::calibration
