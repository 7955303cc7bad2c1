#include "strategies/compression/corrections.hpp"

#include "strategies/compression/pricing.hpp"

namespace gradwire {
namespace {

/// On a CPU each pass is assumed to take as long as a sum of two vectors.
constexpr double correction_passes = 2;
constexpr int correction_kernels = 2;
/// On a GPU, reads and writes of each element: a sum is three; what is kept is read and written.
constexpr int feedback_accesses = 5;
constexpr int momentum_accesses = 6;

CodecWork over_vector(const char* label, std::int64_t elements, CodecDevice device,
                      BytesPerSecond sum_rate, int accesses) {
  if (device == CodecDevice::gpu) {
    return streaming(label, accesses * fp32_size(elements), correction_kernels);
  }
  return {.place = CodecWork::Place::cpu,
          .label = label,
          .time = correction_passes * (fp32_size(elements) / sum_rate)};
}

}  // namespace

CodecWork error_feedback(std::int64_t elements, CodecDevice device, BytesPerSecond sum_rate) {
  return over_vector("error feedback", elements, device, sum_rate, feedback_accesses);
}

CodecWork nesterov_momentum(std::int64_t elements, CodecDevice device, BytesPerSecond sum_rate) {
  return over_vector("momentum", elements, device, sum_rate, momentum_accesses);
}

std::optional<Payload> WithMomentum::payload(std::int64_t elements, int iteration) const {
  auto payload = compressor_->payload(elements, iteration);
  if (payload) payload->correct.push_back(nesterov_momentum(elements, device_, sum_rate_));
  return payload;
}

}  // namespace gradwire
