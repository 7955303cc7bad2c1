#include "sim/train/model_work.hpp"

#include "tests/catch.hpp"
#include "tests/train/three_layers.hpp"

namespace gradwire {
namespace {

/// Batches of 8 whose forward passes take 24 operations.
ComputeProfile profile(const std::string& dtype) {
  ComputeProfile made = test::toy_profile();
  made.dtype = dtype;
  for (LayerProfile& layer : made.layers) layer.flops = 8;
  made.recomputed_flops = 16;
  made.tokens_per_sample = 5;
  return made;
}

}  // namespace

TEST_CASE("A sample is three times its forward operations", "[train][work]") {
  GpuSpec gpu;
  gpu.peak_flops = {{"fp32", 100}, {"bf16", 300}};
  RunResult result;
  add_work(profile("bf16"), gpu, true, result);
  CHECK(result.model_flops == 3 * 24 / 8.0);
  CHECK(result.recomputed_flops == 16 / 8.0);
  CHECK(result.tokens_per_sample == 5);
  CHECK(result.peak_flops == 300);
}

TEST_CASE("MFU of products of 8 bits is of their peak", "[train][work]") {
  GpuSpec gpu;
  gpu.peak_flops = {{"bf16", 300}, {"fp8", 600}};
  ComputeProfile in_fp8 = profile("bf16");
  in_fp8.fp8 = true;
  RunResult result;
  add_work(in_fp8, gpu, true, result);
  CHECK(result.peak_flops == 600);
}

TEST_CASE("Where there is no tf32 the peak is that of fp32, of several types there is none",
          "[train][work]") {
  GpuSpec gpu;
  gpu.peak_flops = {{"fp32", 100}};
  RunResult result;
  add_work(profile("tf32"), gpu, true, result);
  CHECK(result.peak_flops == 100);
  RunResult mixed;
  add_work(profile("fp32"), gpu, false, mixed);
  CHECK(mixed.peak_flops == 0);
}

}  // namespace gradwire
