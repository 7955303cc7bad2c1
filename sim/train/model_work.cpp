#include "sim/train/model_work.hpp"

#include <string>

namespace gradwire {

void add_work(const ComputeProfile& profile, const GpuSpec& gpu, bool one_type, RunResult& result) {
  constexpr double passes = 3;
  double forward = 0;
  for (const LayerProfile& layer : profile.layers) forward += layer.flops;
  result.model_flops = passes * forward / profile.batch_per_gpu;
  result.recomputed_flops = profile.recomputed_flops / profile.batch_per_gpu;
  result.tokens_per_sample = profile.tokens_per_sample;
  const bool stands_in = profile.dtype == "tf32" && !gpu.peak_flops.contains("tf32");
  const auto peak = gpu.peak_flops.find(profile.fp8 ? std::string("fp8")
                                        : stands_in ? std::string("fp32")
                                                    : profile.dtype);
  if (one_type && peak != gpu.peak_flops.end()) result.peak_flops = peak->second;
}

}  // namespace gradwire
