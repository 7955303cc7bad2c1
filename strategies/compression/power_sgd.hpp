#pragma once

#include "strategies/compression/low_rank.hpp"
#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// Knobs of PowerSGDState under their own names.
struct PowerSgdOptions {
  std::int64_t matrix_approximation_rank = 1;
  int start_iteration = 10;  ///< plain all-reduces before it
  double min_compression_rate = 2;
  bool use_error_feedback = true;
  bool batched = false;
  /// Factors of at least this rank are made orthogonal by torch.linalg.qr: the hook's of PyTorch
  /// 1.12 and later (pull request 72043).
  std::int64_t qr_from = 3;
  /// The hook's chain (uncompressed, then P, then Q) and its wait for the device; without, epfml's
  /// order: P and the uncompressed together, then Q.
  bool hook = true;
};

/// Low-rank factors M = P Q^T in place of each gradient matrix: all-reduces of P and of Q with work
/// between. A tensor is compressed where (n + m) * r * min_compression_rate < n * m.
///
/// Source: PowerSGD (Vogels et al., NeurIPS 2019). As a DDP hook: torch/distributed/algorithms/
/// ddp_comm_hooks/powerSGD_hook.py, powerSGD_hook (three all-reduces in a chain: what is not
/// compressed, the P's, the Q's; the chain ends in torch.cuda.synchronize, for which the launching
/// thread waits) and batched_powerSGD_hook (a bucket as one square matrix, two all-reduces).
/// epfml/powersgd, powersgd.py: one buffer each of P's, of uncompressed and of Q's, after backward.
class PowerSgd final : public Compressor {
 public:
  PowerSgd(const PowerSgdOptions& options, const JobView& job);
  static CompressorMaker read(Knobs& knobs);
  /// The knobs of `read`.
  static PowerSgdOptions read_options(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] bool chained() const override { return true; }
  [[nodiscard]] Phasing phasing() const override {
    return {.steady_from = options_.start_iteration};
  }

 private:
  [[nodiscard]] LowRankGroup parted(const TensorGroup& group) const;

  PowerSgdOptions options_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace gradwire
