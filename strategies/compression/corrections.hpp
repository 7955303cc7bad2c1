#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "strategies/compression/compressor.hpp"

namespace gradwire {

/// What BytePS does to a gradient around any compressor, and what it costs: passes over the
/// uncompressed vector, on a CPU as long as so many sums of two vectors.
/// @param sum_rate  of a core, HostCpu's

/// Error feedback: the residual of the last time is added before the encoding, and what was not
/// sent is kept after it; two passes. Of whoever encodes, worker or server.
/// Source: BytePS, byteps/common/compressor/error_feedback.cc (UpdateGradient, UpdateError) and the
/// compressors' FastUpdateError.
[[nodiscard]] CodecWork error_feedback(std::int64_t elements, CodecDevice device,
                                       BytesPerSecond sum_rate);

/// Nesterov momentum: m = mu m + g, then g = g + mu m; two passes.
/// Source: BytePS, byteps/common/compressor/impl/nesterov_momentum.cc.
[[nodiscard]] CodecWork nesterov_momentum(std::int64_t elements, CodecDevice device,
                                          BytesPerSecond sum_rate);

/// A compressor of messages whose workers, and not the servers, add momentum before they encode.
/// Source: BytePS, compressor_registry.cc: a server leaves momentum_type out.
class WithMomentum final : public Compressor {
 public:
  WithMomentum(std::unique_ptr<Compressor> compressor, CodecDevice device, BytesPerSecond sum_rate)
      : compressor_(std::move(compressor)), device_(device), sum_rate_(sum_rate) {}

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override {
    return compressor_->recipe(group);
  }
  [[nodiscard]] std::optional<Payload> payload(std::int64_t elements, int iteration) const override;
  [[nodiscard]] bool linear() const override { return compressor_->linear(); }
  [[nodiscard]] bool chained() const override { return compressor_->chained(); }
  [[nodiscard]] Phasing phasing() const override { return compressor_->phasing(); }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return compressor_->collectives();
  }
  [[nodiscard]] std::vector<Exchange> exchanges() const override {
    return compressor_->exchanges();
  }

 private:
  std::unique_ptr<Compressor> compressor_;
  CodecDevice device_;
  BytesPerSecond sum_rate_;
};

}  // namespace gradwire
