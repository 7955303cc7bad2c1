#include "sim/models/efficiency_fit.hpp"

#include <utility>
#include <vector>

#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// 10 TFLOP/s on 50 multiprocessors, 400 GB/s, all reachable, 1 us a kernel.
GpuSpec made_up() {
  GpuSpec gpu;
  gpu.name = "made-up";
  gpu.multiprocessors = 50;
  gpu.memory_bandwidth = BytesPerSecond{400e9};
  gpu.memory_efficiency = 1;
  gpu.kernel_overhead = Seconds{1e-6};
  gpu.kernels = config::shipped_kernels();
  gpu.peak_flops = {{"fp32", 10e12}};
  const DirectedEfficiency matrix = {{0.8, 1}, {0.7, 0.5}};
  const DirectedEfficiency memory = {{0, 0.9}, {0, 0.8}};
  for (const char* name : {"stem", "conv1", "conv3", "conv3_strided", "linear", "attention"}) {
    gpu.efficiency["fp32"][name] = matrix;
  }
  for (const char* name : {"norm", "act", "add", "pool", "softmax", "embed", "other"}) {
    gpu.efficiency["fp32"][name] = memory;
  }
  return gpu;
}

TimedJob job_of(ModelDescription model, int batch, const GpuSpec& gpu) {
  TimedJob job;
  job.model = std::move(model);
  job.gpu = gpu;
  job.batch = batch;
  job.dtype = "fp32";
  return job;
}

}  // namespace

TEST_CASE("a fit of classes finds the shares that a recording was made with", "[models][fit]") {
  const GpuSpec gpu = made_up();
  const ComputeProfile recorded =
      analytic_profile(config::shipped_hosts(), resnet50({}), gpu, 32, "fp32");
  ComputeProfile seen = recorded;  // as profilers see it: sums of gradients in the layer behind
  for (std::size_t l = 0; l + 1 < seen.layers.size(); ++l) {
    if (!seen.layers[l].name.ends_with(".grad_sum")) continue;
    // at the whole bandwidth, not the 80 % that the table has for adds
    seen.layers[l + 1].backward += 0.8 * (seen.layers[l].backward - gpu.kernel_overhead);
  }
  std::erase_if(seen.layers,
                [](const LayerProfile& layer) { return layer.name.ends_with(".grad_sum"); });
  const auto layers = timed_work(config::shipped_hosts(), seen, resnet50({}), gpu);
  int found = 0;
  for (const ClassFit& fit : fit_classes(layers, gpu, "fp32")) {
    if (fit.work_class != "conv1" && fit.work_class != "conv3") continue;
    INFO(fit.work_class);
    const bool forward = fit.direction == Direction::forward;
    CHECK(fit.rms < 0.02);
    CHECK(fit.efficiency.flops == Approx(forward ? 0.8 : 0.7).epsilon(0.06));
    CHECK(fit.efficiency.memory == Approx(forward ? 1.0 : 0.5).epsilon(0.15));
    ++found;
  }
  CHECK(found == 4);
}

TEST_CASE("factors are found that published times were made with", "[models][fit]") {
  const GpuSpec gpu = made_up();
  std::vector<TimedJob> jobs;
  for (const int batch : {8, 16, 32, 64, 128, 256}) {
    jobs.push_back(job_of(resnet50({}), batch, gpu));
    jobs.push_back(job_of(vgg16({}), batch, gpu));
    jobs.push_back(job_of(bert_base({}), batch, gpu));
  }
  LikeFactors made;
  made.convolutions = 1.3;
  made.products = 0.8;
  made.memory = 0.7;
  std::vector<const TimedJob*> pointers;
  for (TimedJob& job : jobs) {
    job.time = predicted_time(config::shipped_hosts(), job, made);
    pointers.push_back(&job);
  }
  // The prior holds factors a little.
  const LikeFactors found = fit_factors(config::shipped_hosts(), pointers);
  CHECK(found.convolutions == Approx(1.3).epsilon(0.05));
  CHECK(found.products == Approx(0.8).epsilon(0.05));
  CHECK(found.memory == Approx(0.7).epsilon(0.05));
  CHECK(found.grouped == Approx(1));
  CHECK(found.flash == Approx(1));
}

TEST_CASE("factors act on the classes that they name", "[models][fit]") {
  EfficiencyTable table = made_up().efficiency.at("fp32");
  table["grouped_conv"] = {{0.1, 0}, {0.1, 0}};
  LikeFactors factors;
  factors.convolutions = 2;
  factors.grouped = 3;
  factors.products = 0.5;
  factors.memory = 0.1;
  const EfficiencyTable times = scaled(table, factors);
  CHECK(times.at("conv3").forward.flops == Approx(1.6));
  CHECK(times.at("conv3").backward.memory == Approx(0.5));  // stays: kernels that change layouts
  CHECK(times.at("grouped_conv").forward.flops == Approx(0.3));
  CHECK(times.at("linear").backward.flops == Approx(0.35));
  CHECK(times.at("norm").forward.memory == Approx(0.09));
}
