#include "sim/models/frameworks.hpp"

#include <string>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

GpuSpec gpu(const std::string& name) {
  return config::shipped_gpu(name, {});
}

/// A GPU that is `factor` times as fast in all.
GpuSpec faster(GpuSpec spec, double factor) {
  for (auto& [dtype, flops] : spec.peak_flops) flops *= factor;
  spec.memory_bandwidth = BytesPerSecond{factor * spec.memory_bandwidth.count()};
  spec.kernel_overhead = Seconds{spec.kernel_overhead.count() / factor};
  return spec;
}

std::vector<ModelDescription> models() {
  return {resnet50({}), vgg16({}), bert_base({})};
}

AnalyticOptions host_of(std::string_view framework) {
  AnalyticOptions options;
  options.framework = framework;
  return options;
}

double iteration(const ModelDescription& model, const GpuSpec& spec, int batch,
                 const std::string& dtype, const AnalyticOptions& options = {}) {
  return analytic_profile(config::shipped_hosts(), model, spec, batch, dtype, options)
      .iteration.count();
}

}  // namespace

TEST_CASE("eager ResNet-50 of batch 1 takes its launches on any fast GPU, in the time of its host",
          "[models][framework]") {
  // Forward, by the table, us: 53 conv 58, 53 norm 86.8, 49 act 28.5, 16 add 23, 2 pools 48.5,
  // linear 58: 9.597 ms. Backward: 53 conv 92.2, 53 norm 52.8, 49 act 23, 16 add 6.5, 2 pools 43.2,
  // linear 129: 9.004 ms; 161 gradients 12.4: 1.996 ms. Optimizer 161 x 6.64: 1.069 ms.
  const double traced = 9.597e-3 + 9.004e-3 + 1.996e-3 + 1.069e-3;
  for (const char* name : {"a100-sxm4-40gb", "h100-sxm5-80gb"}) {
    const ComputeProfile profile =
        analytic_profile(config::shipped_hosts(), resnet50({}), gpu(name), 1, "tf32");
    const double host = gpu(name).host_time * traced;
    double launched = profile.launch_of_optimizer().count();
    for (const LayerProfile& layer : profile.layers) {
      launched += (layer.launches->forward + layer.launches->backward).count();
    }
    INFO(name);
    CHECK(launched == Approx(host).epsilon(0.01));
    CHECK(profile.iteration.count() > host);
    CHECK(profile.iteration.count() < host + 1e-3);  // and between iterations
  }
}

TEST_CASE("eager ResNet-50 of small batches takes what TorchBench measured, within 15 %",
          "[models][framework]") {
  // pytorch/benchmark#706 (January 2022, V100, fp32, Adam one by one, no profiler), three
  // iterations a figure: 89.033, 92.854, 93.676 ms of batch 1, 2 and 4. Nothing is fitted to them.
  AnalyticOptions adam;
  adam.optimizer = "adam";
  adam.optimizer_step = StepForm::loop;
  const GpuSpec v100 = gpu("v100-sxm2-16gb");
  CHECK(iteration(resnet50({}), v100, 1, "fp32", adam) == Approx(89.033e-3 / 3).epsilon(0.15));
  CHECK(iteration(resnet50({}), v100, 2, "fp32", adam) == Approx(92.854e-3 / 3).epsilon(0.15));
  CHECK(iteration(resnet50({}), v100, 4, "fp32", adam) == Approx(93.676e-3 / 3).epsilon(0.15));
}

TEST_CASE("MXNet's batches of 1 take what its page tells, within 15 %", "[models][framework]") {
  // apache/mxnet docs/faq/perf.md, MXNet 1.2 on a V100: 34.54 and 21.83 images/s (calibration).
  const GpuSpec v100 = gpu("v100-sxm2-16gb");
  CHECK(iteration(resnet50({}), v100, 1, "fp32", host_of("mxnet")) ==
        Approx(1 / 34.54).epsilon(0.15));
  CHECK(iteration(inception_v3({}), v100, 1, "fp32", host_of("mxnet")) ==
        Approx(1 / 21.83).epsilon(0.15));
}

TEST_CASE("a batch twice as large never lowers the rate", "[models][framework]") {
  for (const Framework& framework : config::shipped_hosts().frameworks) {
    for (const ModelDescription& model : models()) {
      for (const char* name : {"k80", "v100-sxm2-16gb", "h100-sxm5-80gb"}) {
        const GpuSpec spec = gpu(name);
        for (int batch = 1; batch <= 512; batch *= 2) {
          INFO(framework.name << " " << model.name << " " << name << " " << batch);
          const double one = iteration(model, spec, batch, "fp32", host_of(framework.name));
          const double two = iteration(model, spec, 2 * batch, "fp32", host_of(framework.name));
          CHECK(two <= 2 * one);
          CHECK(two >= one);
        }
      }
    }
  }
}

TEST_CASE("a faster GPU is never slower, and brings nothing where the host bounds",
          "[models][framework]") {
  const GpuSpec a100 = gpu("a100-sxm4-40gb");
  for (const Framework& framework : config::shipped_hosts().frameworks) {
    for (const ModelDescription& model : models()) {
      for (const int batch : {1, 8, 64}) {
        INFO(framework.name << " " << model.name << " " << batch);
        const AnalyticOptions options = host_of(framework.name);
        CHECK(iteration(model, faster(a100, 2), batch, "fp16", options) <=
              iteration(model, a100, batch, "fp16", options));
      }
    }
  }
  const double now = iteration(resnet50({}), a100, 1, "fp16");
  CHECK(iteration(resnet50({}), faster(a100, 10), 1, "fp16") > 0.95 * now);
}

TEST_CASE("batch 1 and 2 are bound by the host, a huge batch by the device alone",
          "[models][framework]") {
  const GpuSpec h100 = gpu("h100-sxm5-80gb");
  CHECK(iteration(resnet50({}), h100, 2, "bf16") ==
        Approx(iteration(resnet50({}), h100, 1, "bf16")).epsilon(0.01));
  const ComputeProfile huge =
      analytic_profile(config::shipped_hosts(), resnet50({}), h100, 1024, "bf16");
  CHECK(huge.iteration / huge.gpu_busy < 1.01);
}

TEST_CASE("compilers are never slower than what runs operator by operator", "[models][framework]") {
  const GpuSpec h100 = gpu("h100-sxm5-80gb");
  for (const ModelDescription& model : models()) {
    for (const char* dtype : {"fp32", "bf16"}) {
      for (int batch = 1; batch <= 256; batch *= 4) {
        INFO(model.name << " " << dtype << " " << batch);
        const auto of = [&](const char* name) {
          return iteration(model, h100, batch, dtype, host_of(name));
        };
        CHECK(of("pytorch-compile") <= of("pytorch-eager"));
        CHECK(of("tf-xla") <= of("tf"));
      }
    }
  }
}

TEST_CASE("an optimizer over lists costs the host less than one by one, fused the least",
          "[models][framework]") {
  for (const OptimizerKind& kind : config::shipped_hosts().optimizers) {
    INFO(kind.name);
    CHECK(host_time(kind, StepForm::fused, 161) <= host_time(kind, StepForm::foreach, 161));
    CHECK(host_time(kind, StepForm::foreach, 161) <= host_time(kind, StepForm::loop, 161));
  }
  // A step of SGD with momentum and weight decay in the trace, 904 us, and zero_grad(), 164 us.
  CHECK(host_time(*config::shipped_hosts().find_optimizer("momentum"), StepForm::foreach, 161)
            .count() == Approx(904e-6 + 164e-6).epsilon(0.01));
}

TEST_CASE("mixed precision costs the host a cast of every product's weight and gradient",
          "[models][framework]") {
  const GpuSpec a100 = gpu("a100-sxm4-40gb");
  const auto launches = [&](const char* dtype) {
    const ComputeProfile profile =
        analytic_profile(config::shipped_hosts(), resnet50({}), a100, 1, dtype);
    double sum = 0;
    for (const LayerProfile& layer : profile.layers) {
      sum += (layer.launches->forward + layer.launches->backward).count();
    }
    return sum;
  };
  // 53 weights of convolutions, weight and bias of the last layer: 55 x (16 + 47) us
  CHECK(launches("bf16") - launches("tf32") == Approx(3.465e-3));
}

TEST_CASE("autocast casts the inputs of products that come out of norms, half precision does not",
          "[models][framework]") {
  const auto launches = [&](bool autocast) {
    AnalyticOptions options;
    options.autocast = autocast;
    const ComputeProfile profile = analytic_profile(config::shipped_hosts(), vit_b_16({}),
                                                    gpu("a100-sxm4-40gb"), 1, "bf16", options);
    double sum = 0;
    for (const LayerProfile& layer : profile.layers) {
      sum += (layer.launches->forward + layer.launches->backward).count();
    }
    return sum;
  };
  // Two norms a block lead to products, the last to the head by way of a gather; the loss reads
  // logits in fp32: 12 x 2 + 1 casts of 16 + 47 us.
  CHECK(launches(true) - launches(false) == Approx(25 * 63e-6));
}

TEST_CASE("XLA hands gradients over when all of backward has run, an executor of operators at once",
          "[models][framework]") {
  const auto ready = [](const char* framework) {
    const ComputeProfile profile =
        analytic_profile(config::shipped_hosts(), resnet50({}), gpu("v100-sxm2-16gb"), 64, "fp32",
                         host_of(framework));
    const auto gradients = gradients_by_layer(profile);
    CHECK(gradients.size() == profile.layers.size());
    return gradients.front().size();
  };
  // torchvision's 161 tensors; backward ends with the first layer.
  CHECK(ready("tf-xla") == 161);
  CHECK(ready("tf") < 161);
  CHECK(ready("pytorch-compile") < 161);
}
