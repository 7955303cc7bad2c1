#include <algorithm>
#include <string>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::literals;

namespace {

GpuSpec gpu(const std::string& name) {
  return config::shipped_gpu(name, {});
}

/// Seconds of a forward and a backward pass, without what the host takes.
double passes(const ModelDescription& model, const GpuSpec& spec, int batch) {
  const ComputeProfile profile =
      analytic_profile(config::shipped_hosts(), model, spec, batch, "fp16");
  return (profile.forward() + profile.backward()).count();
}

}  // namespace

TEST_CASE("copies within an L2 cache and beyond it run at the published rates",
          "[models][analytic]") {
  // GitHub smallscientist1/cuda_microbenchmark, analysis_RTX4090.md and analysis_A100.md: copies of
  // so many MB, one after the other in the same buffers; both pass before a byte is met again.
  GpuSpec a100 = gpu("a100-pcie-80gb");
  a100.l2 = {.size = 40_MiB, .bandwidth = BytesPerSecond{2447e9}};
  struct Row {
    GpuSpec spec;
    double megabytes;
    double rate;  ///< GB/s, read and written
  };
  const auto row = GENERATE_COPY(Row{gpu("rtx4090"), 16, 3645}, Row{gpu("rtx4090"), 32, 2318},
                                 Row{gpu("rtx4090"), 64, 820}, Row{a100, 16, 2167});
  ModelLayer copy;
  copy.kind = "other";
  copy.forward.elements = 2 * row.megabytes * 1e6 / 4;
  const double bytes = 2 * row.megabytes * 1e6;
  const KernelWork work =
      kernel_work(copy, {.gpu = row.spec, .batch = 1, .dtype = "fp32", .moved_before = bytes},
                  Direction::forward);
  CHECK(work.bytes == Approx(bytes));
  KernelTimer timer(work, row.spec, "fp32");
  timer.set_flops(0);
  const double launch = row.spec.kernel_overhead.count();
  CHECK(1e-9 * bytes / (timer.time(1).count() - launch) == Approx(row.rate).epsilon(0.15));
}

TEST_CASE("weights, and what the first kernel reads, are in no cache", "[models][analytic]") {
  const GpuSpec spec = gpu("l40s");
  const ModelDescription model = vgg16({});
  const auto largest = std::ranges::max_element(model.layers, {}, [](const ModelLayer& layer) {
    return layer.parameters.empty() ? 0 : layer.parameters.front().elements();
  });
  const KernelWork met = kernel_work(
      *largest, {.gpu = spec, .batch = 1, .dtype = "fp32", .moved_before = 1}, Direction::forward);
  CHECK(met.cached < 1e-3 * met.bytes);  // 25088 x 4096 weights
  const KernelWork first = kernel_work(
      model.layers.front(), {.gpu = spec, .batch = 1, .dtype = "fp32"}, Direction::forward);
  CHECK(first.cached == 0);
}

TEST_CASE("a small batch of pictures stays in an L2 cache, a large one does not",
          "[models][analytic]") {
  const ModelDescription model = resnet50({});
  const GpuSpec spec = gpu("l40s");
  GpuSpec without = spec;
  without.l2 = {};
  const auto saved = [&](int batch) {
    return 1 - passes(model, spec, batch) / passes(model, without, batch);
  };
  CHECK(saved(16) > 0.3);
  CHECK(saved(64) < saved(16));
  CHECK(saved(512) < 0.05);
}

TEST_CASE("a larger batch takes no less time for an L2 cache", "[models][analytic]") {
  const auto model = GENERATE(resnet50({}), gpt2({}));
  const GpuSpec spec = gpu("rtx4090");
  double before = 0;
  for (int batch = 1; batch <= 128; batch += 3) {
    const double time = passes(model, spec, batch);
    CHECK(time > before);
    before = time;
  }
}
