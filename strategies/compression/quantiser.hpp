#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// Random rounding to a few levels between 0 and a tensor's norm. Ranks gather everyone's.
///
/// Source: QSGD (Alistarh et al., NeurIPS 2017). `qsgd`: GRACE, grace_dl/torch/compressor/qsgd.py:
/// an int8 an element below 128 levels, fp16 from there on, and an fp32 norm a tensor. `dithering`:
/// BytePS (docs/gradient-compression.md): levels coded with Elias codes, and 8 bytes; the size
/// depends on the data, taken is QSGD's bound of it (theorem 3.2, without its o(1)).
///
/// On a GPU an element's encoding reads and writes 98 bytes and its code, its decoding 24 and its
/// code for each rank, in 15 and 4 kernels a tensor (quantiser.cpp).
class Quantiser final : public Compressor {
 public:
  enum class Coding : std::uint8_t { fixed, elias };
  /// @param error_feedback  BytePS's (corrections.hpp).
  Quantiser(Coding coding, std::int64_t levels, const JobView& job, CodecDevice device,
            bool error_feedback = false);
  static CompressorMaker read_qsgd(Knobs& knobs);
  static CompressorMaker read_dithering(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] std::optional<Payload> payload(std::int64_t elements, int iteration) const override;
  [[nodiscard]] bool chained() const override { return pricing_.on_cpu(); }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;

 private:
  [[nodiscard]] Bytes coded(std::int64_t elements, std::int64_t tensors) const;
  [[nodiscard]] CodecWork quantise(std::int64_t elements, Bytes coded, int tensors) const;
  [[nodiscard]] CodecWork restore(std::int64_t elements, Bytes coded, int tensors,
                                  std::int64_t times) const;

  Coding coding_;
  std::int64_t levels_;
  bool error_feedback_;
  Pricing pricing_;
};

/// (3 + 3/2 log2(2 (s^2 + n) / (s (s + sqrt n)))) s (s + sqrt n) + 32 bits, at most 32 an element:
/// what Elias codes take for n elements at s levels. In whole bytes.
/// REQUIRES: elements >= 1, levels >= 1.
[[nodiscard]] Bytes elias_coded(std::int64_t elements, std::int64_t levels);

}  // namespace gradwire
