#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strategies/compression/compressor.hpp"

namespace gradwire {

/// Prices a compressor's work: as measured where so many elements were, else by what its kernels
/// move and multiply, which is marked as an estimate; on a CPU where nothing was measured by a rate
/// of its own (pricing.cpp). Where fewer elements were measured it takes no less than they did.
class Pricing {
 public:
  /// @param alike  the compressor whose measured decoding on a CPU stands in for this one's: the
  ///               same work on the same kind of message; "": none.
  Pricing(std::string compressor, CodecDevice device, const JobView& job, std::string alike = "");

  /// One encoding of `elements`. @param counted  the kernels, where it was not measured.
  [[nodiscard]] CodecWork encode(std::int64_t elements, CodecWork counted) const;
  /// `times` decodings of `elements`. @param counted  all of them together.
  [[nodiscard]] CodecWork decode(std::int64_t elements, CodecWork counted,
                                 std::int64_t times = 1) const;

  /// Copies over the bus around work on a CPU; nothing on a GPU.
  void fetch(std::int64_t elements, std::vector<CodecWork>& work) const;
  void store(std::int64_t elements, std::vector<CodecWork>& work) const;

  [[nodiscard]] bool on_cpu() const { return device_ == CodecDevice::cpu; }
  [[nodiscard]] CodecDevice device() const { return device_; }
  [[nodiscard]] BytesPerSecond sum_rate() const { return sum_rate_; }  ///< of a core, HostCpu's

 private:
  [[nodiscard]] CodecWork priced(std::optional<MeasuredTime> measured, std::int64_t elements,
                                 CodecWork counted, std::int64_t times) const;

  std::string compressor_;
  std::string alike_;
  CodecDevice device_;
  std::shared_ptr<const EncodeCosts> costs_;
  BytesPerSecond host_copy_;
  BytesPerSecond sum_rate_;
};

/// A copy of `size` bytes between GPU and host memory.
[[nodiscard]] CodecWork bus_copy(Bytes size, BytesPerSecond rate, std::string label);

/// Elementwise kernels over device memory.
[[nodiscard]] CodecWork streaming(std::string label, Bytes traffic, int kernels);

}  // namespace gradwire
