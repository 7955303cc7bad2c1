#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// Plain all-reduces while Adam's variance settles; from then on momentum as signs with an error on
/// both ends: each rank gathers its chunk from all (all-to-all of n/8 bytes), averages and packs
/// it, and all gather the chunks (n/8 bytes); scales of 4 bytes a rank travel beside both.
///
/// Source: 1-bit Adam (Tang et al., ICML 2021); DeepSpeed, runtime/comm/nccl.py,
/// compressed_allreduce and runtime/fp16/onebit/adam.py (freeze_step 100000); 0.3:
/// runtime/fp16/onebit_adam.py and runtime/custom_collectives.py, over MPI.
class OneBitAdam final : public Compressor {
 public:
  OneBitAdam(int freeze_step, const JobView& job);
  static CompressorMaker read(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] bool chained() const override { return true; }
  [[nodiscard]] Phasing phasing() const override { return {.steady_from = freeze_step_}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;

 private:
  int freeze_step_;
  Pricing pricing_;
};

}  // namespace gradwire
