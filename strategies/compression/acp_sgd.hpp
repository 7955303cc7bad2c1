#pragma once

#include "strategies/compression/low_rank.hpp"
#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// Alternates between the factors of PowerSGD: even steps reduce P, odd steps Q, so that each
/// all-reduce carries the factors of one side and all vectors, without a chain.
///
/// Source: ACP-SGD (Zhang et al., ICDCS 2023); lzhangbv/acpsgd, acpsgd.py:82-91 (shapes, rank),
/// 254-294 (work in the hook, on the compute stream), 320-339 (grad = P Q^T at the end).
class AcpSgd final : public Compressor {
 public:
  AcpSgd(std::int64_t rank, const JobView& job);
  static CompressorMaker read(Knobs& knobs);
  /// The knob `rank`.
  static std::int64_t read_rank(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] Phasing phasing() const override { return {.steady_from = 0, .period = 2}; }

 private:
  std::int64_t rank_;
  std::vector<TensorInfo> tensors_;
};

/// Even steps reduce P, the first one included.
[[nodiscard]] constexpr bool reduces_p(int iteration) {
  return iteration % 2 == 0;
}

/// How ACP-SGD parts these tensors: more than one dimension makes a matrix.
[[nodiscard]] LowRankGroup acp_group(const std::vector<TensorInfo>& tensors,
                                     const std::vector<TensorId>& ids, std::int64_t rank);

}  // namespace gradwire
