#include "sim/models/derived_profile.hpp"

#include <cmath>
#include <string>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using Catch::Matchers::Contains;

namespace {

GpuSpec gpu(const std::string& name) {
  return config::shipped_gpu(name, {});
}

/// ResNet-50, fp32, batch 32, on a V100-SXM2-32GB.
ComputeProfile recorded() {
  return config::read_profile(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml"));
}

const GpuSpec v100 = gpu("v100-sxm2-32gb");
const ProfileErrors& errors = v100.errors;

double error(Seconds derived, double measured) {
  return derived.count() / measured - 1;
}

}  // namespace

TEST_CASE("a V100 recording derived for an A100 in TF32 meets a trace of it", "[models][derived]") {
  const GpuSpec a100 = gpu("a100-sxm4-40gb");
  const ComputeProfile profile =
      derived_for_dtype(derived_for_gpu(recorded(), v100, a100), a100, "tf32");
  // Sums of layers of a PyTorch profiler trace of ResNet-50, batch 32, on an A100 with 1555 GB/s
  // (nccl_parser_config of facebookresearch/HolisticTraceAnalysis): 12.518 and 25.154 ms.
  CHECK(std::abs(error(profile.forward(), 12.518e-3)) < errors.other_gpu);
  CHECK(std::abs(error(profile.backward(), 25.154e-3)) < errors.other_gpu);
}

TEST_CASE("a V100 recording derived for an H100 in TF32 and four times the batch meets a trace",
          "[models][derived]") {
  const GpuSpec h100 = gpu("h100-sxm5-80gb");
  const ComputeProfile profile = derived_for_dtype(
      derived_for_gpu(derived_for_batch(recorded(), v100, 128), v100, h100), h100, "tf32");
  // Operator table of ResNet-50, batch 128, on an H100 (sarchlab/triosim): forward 23.90 ms less
  // 2.64 ms of counters' additions of one element, backward 45.98 ms.
  CHECK(std::abs(error(profile.backward(), 45.98e-3)) < errors.other_gpu);
  CHECK(std::abs(error(profile.forward(), 23.90e-3)) < errors.other_gpu);
}

TEST_CASE("a V100 recording derived for four times the batch meets published rates",
          "[models][derived]") {
  const ComputeProfile profile = derived_for_batch(recorded(), v100, 128);
  // 348.62 to 354.44 images/s: PyTorch, batch 128, fp32 (Oneflow-Inc/DLPerf)
  CHECK(std::abs(error(profile.iteration, 128 / 351.5)) < errors.other_batch);
}

TEST_CASE("a V100 recording derived for mixed precision meets published rates",
          "[models][derived]") {
  const ComputeProfile profile =
      derived_for_dtype(derived_for_batch(recorded(), v100, 256), v100, "fp16");
  // 802.9 and 827.86 images/s: PyTorch NGC 20.03, batch 256, AMP (Oneflow-Inc/DLPerf)
  CHECK(std::abs(error(profile.iteration, 256 / 815.4)) < errors.other_dtype);
}

TEST_CASE("a derived profile says from what, and its error grows with each step",
          "[models][derived]") {
  const GpuSpec t4 = gpu("t4");
  const ComputeProfile once = derived_for_gpu(recorded(), v100, t4);
  const ComputeProfile twice = derived_for_batch(once, t4, 64);
  CHECK(once.source.kind == "derived");
  CHECK_THAT(once.source.notes, Contains("derived from a profile of kind recorded") &&
                                    Contains("from v100-sxm2-32gb to t4"));
  CHECK_THAT(twice.source.notes, Contains(", then from batch 32 to 64"));
  CHECK(once.model_error.high == Approx(errors.other_gpu));
  CHECK(twice.model_error.low == Approx(std::hypot(errors.other_gpu, errors.other_batch)));
  CHECK(twice.batch_per_gpu == 64);
  CHECK_FALSE(once.layers.front().parameters.front().ready.has_value());
}

TEST_CASE("a profile derived for what it is stays as it is", "[models][derived]") {
  const ComputeProfile profile = derived_for_dtype(
      derived_for_batch(derived_for_gpu(recorded(), v100, v100), v100, 32), v100, "fp32");
  CHECK(profile.source.kind == "recorded");
  CHECK(profile.model_error == RelativeError{});
  CHECK(profile.iteration == recorded().iteration);
}

TEST_CASE("two recordings give every batch between them on a straight line", "[models][derived]") {
  const ComputeProfile small = recorded();
  ComputeProfile large = small;
  large.batch_per_gpu = 64;
  for (LayerProfile& layer : large.layers) {
    layer.forward = 1.5 * layer.forward;
    layer.backward = 2 * layer.backward;
  }
  large.iteration = 2 * small.iteration;
  large.gpu_busy = 2 * small.gpu_busy;
  const ComputeProfile middle = interpolated_for_batch(small, large, v100, 48);
  // half way: (1 + 1.5) / 2 forward, (1 + 2) / 2 backward, (1 + 2) / 2 for the iteration
  CHECK(middle.forward() / small.forward() == Approx(1.25));
  CHECK(middle.backward() / small.backward() == Approx(1.5));
  CHECK(middle.iteration / small.iteration == Approx(1.5));
  CHECK(middle.batch_per_gpu == 48);
  CHECK(middle.model_error.high == Approx(errors.between_batches));
  CHECK(interpolated_for_batch(small, large, v100, 128).model_error.high ==
        Approx(errors.other_batch));
}
