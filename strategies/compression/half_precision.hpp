#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// Gradients are cast to 2 bytes, divided by the world size, summed in that type, and cast back.
///
/// Source: torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, fp16_compress_hook and
/// bf16_compress_hook; Horovod's Compression.fp16 casts in the same places.
class HalfPrecision final : public Compressor {
 public:
  static CompressorMaker read(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] std::optional<Payload> payload(std::int64_t elements, int iteration) const override;
  [[nodiscard]] bool linear() const override { return true; }
};

}  // namespace gradwire
