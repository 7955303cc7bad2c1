#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::config {
namespace {

const std::filesystem::path profiles = std::filesystem::path(GRADWIRE_SOURCE_DIR) / "profiles";

ComputeProfile shipped(const std::string& model) {
  return read_profile(load_yaml((profiles / model / "v100-sxm2-32gb_fp32_b32.yaml").string()));
}

GpuSpec shipped_gpu(const std::string& name) {
  return read_gpu(load_yaml((profiles / "gpus" / (name + ".yaml")).string()));
}

struct KindTotal {
  int layers = 0;
  double flops = 0;
  Seconds time;
};

std::map<std::string, KindTotal> by_kind(const ComputeProfile& profile) {
  std::map<std::string, KindTotal> totals;
  for (const auto& layer : profile.layers) {
    auto& total = totals[layer.kind];
    ++total.layers;
    total.flops += layer.flops;
    total.time += layer.forward + layer.backward;
  }
  return totals;
}

TEST_CASE("The shipped ResNets have torchvision's parameters and buffers", "[config][profile]") {
  // Buffers: mean and variance of every norm channel, one counter a norm. ResNet-50's 26560
  // channels: 53120 + 53. ResNeXt-50's 34112: 68224 + 53.
  const auto resnet = shipped("resnet50");
  CHECK(resnet.tensor_count() == 161);
  CHECK(resnet.parameter_count() == 25'557'032);
  CHECK(resnet.buffers == 3 * 53);
  CHECK(resnet.buffer_elements == 53'120 + 53);
  const auto resnext = shipped("resnext50_32x4d");
  CHECK(resnext.tensor_count() == 161);
  CHECK(resnext.parameter_count() == 25'028'904);
  CHECK(resnext.buffers == 3 * 53);
  CHECK(resnext.buffer_elements == 68'224 + 53);
}

TEST_CASE("A shipped profile lies where its model, GPU, type and batch say", "[config][profile]") {
  for (const std::string& name : data_names(DataKind::profile)) {
    INFO(name);
    const auto profile = read_profile(load_yaml(data_file(DataKind::profile, name).string()));
    CHECK(name.starts_with(profile.model + "/"));
    if (profile.is_shape()) continue;
    const bool nhwc = profile.source.notes.find("memory_format channels_last") != std::string::npos;
    // Its iteration waits for the GPU in each step, so it is not what the job's names alone ask
    // for.
    const bool scaled = profile.source.notes.find("GradScaler") != std::string::npos;
    CHECK(name == profile.model + "/" + profile.gpu + "_" + profile.dtype +
                      (nhwc ? "_channels_last" : "") + (scaled ? "_scaler" : "") + "_b" +
                      std::to_string(profile.batch_per_gpu));
  }
}

TEST_CASE("Norm buffers follow from the norms' parameters", "[config][profile]") {
  const auto profile = shipped(GENERATE("resnet50", "resnext50_32x4d"));
  std::int64_t elements = 0;
  for (const auto& layer : profile.layers) {
    if (layer.kind == "norm") elements += 2 * layer.parameters.front().elements() + 1;
  }
  CHECK(profile.buffer_elements == elements);
}

TEST_CASE("The recorded ResNet-50 adds up to what was recorded", "[config][profile]") {
  const auto profile = shipped("resnet50");
  // The recording's 29.783 ms is the median of three steps' sums; here the sum of medians.
  CHECK(profile.forward() / Seconds{29.783e-3} == Approx(1).epsilon(0.002));
  // Its 62.753 ms of backward contain 0.503 ms of DDP's bucket copies, less the 0.002 ms of the
  // first one, and lack the 0.056 ms of the last layer's own kernels.
  const Seconds with_copies = profile.backward() + Seconds{(503.3 - 1.8 - 55.9) * 1e-6};
  CHECK(with_copies / Seconds{62.753e-3} == Approx(1).epsilon(0.0002));
  // Without the 1.684 ms that the stream spent on DDP's kernels.
  CHECK(profile.iteration / Seconds{95.551e-3 - 1.684e-3} == Approx(1).epsilon(1e-6));
  CHECK(profile.optimizer == Seconds{1.109e-3});
  // Loss, norm counters (0.11 ms) and the gaps of 0.75 us between some 740 kernels.
  CHECK(profile.unattributed() > Seconds{0.5e-3});
  CHECK(profile.unattributed() < Seconds{1e-3});
}

struct TensorTimes {
  std::string name;
  Seconds recorded;
  Seconds derived;  ///< backward until the end of the tensor's layer, as the replay sees it
};

/// In the profile's gradient order.
std::vector<TensorTimes> tensor_times(const ComputeProfile& profile) {
  std::vector<TensorTimes> times;
  Seconds left = profile.backward();
  for (const auto& layer : profile.layers) {
    for (const auto& parameter : layer.parameters) {
      times.push_back({parameter.name, parameter.ready.value(), left});
    }
    left -= layer.backward;
  }
  std::vector<TensorTimes> ordered;
  for (const TensorId id : profile.gradient_order) {
    ordered.push_back(times[static_cast<std::size_t>(id)]);
  }
  return ordered;
}

TEST_CASE("ResNet-50's gradients come in the order of their recorded times", "[config][profile]") {
  const auto times = tensor_times(shipped("resnet50"));
  CHECK(times.front().name == "fc.bias");
  CHECK(times[1].name == "fc.weight");
  CHECK(times.back().name == "conv1.weight");
  CHECK(std::ranges::is_sorted(times, {}, &TensorTimes::recorded));
  // The recorded times are later than the derived ones, by 1.1 ms at most: bucket copies, 0.66 ms
  // in all, and gaps of 0.75 us before some 500 other kernels.
  const auto later = [](const TensorTimes& tensor) { return tensor.recorded - tensor.derived; };
  const auto [least, most] = std::ranges::minmax(times, {}, later);
  CHECK(later(least) > Seconds{0});
  CHECK(later(most) < Seconds{1.1e-3});
}

TEST_CASE("Both ResNets do the operations of their architecture", "[config][profile]") {
  // Two operations a multiply-accumulate, 32 images; 4.089 and 4.230 G multiply-accumulates are the
  // published figures of torchvision (4.09, 4.23).
  const auto flops = [](const std::string& model) {
    double sum = 0;
    for (const auto& layer : shipped(model).layers) sum += layer.flops;
    return sum / (2 * 32);
  };
  CHECK(flops("resnet50") == Approx(4.089e9).epsilon(1e-3));
  CHECK(flops("resnext50_32x4d") == Approx(4.230e9).epsilon(1e-3));
}

/// q of the ResNeXt-50 profile's notes: time of a layer to that of its twin in ResNet-50.
double ratio_to_twin(const LayerProfile& layer, const LayerProfile& twin) {
  if (layer.kind == "conv1") return layer.flops / twin.flops;
  if (layer.kind == "norm") {
    return static_cast<double>(layer.parameters[0].elements()) /
           static_cast<double>(twin.parameters[0].elements());
  }
  return layer.name.ends_with(".relu1") || layer.name.ends_with(".relu2") ? 2 : 1;
}

TEST_CASE("The ResNeXt-50 profile follows from ResNet-50's by the formula in its notes",
          "[config][profile]") {
  const auto resnet = shipped("resnet50");
  const auto resnext = shipped("resnext50_32x4d");
  // Published single-GPU rates of 329 and 220 images a second, printed truncated: the middle.
  const double scale = Seconds{32 / 329.5} / resnet.iteration;
  CHECK(resnext.iteration / Seconds{32 / 220.5} == Approx(1).epsilon(1e-5));
  CHECK(resnext.unattributed() / (scale * resnet.unattributed()) == Approx(1).epsilon(0.02));
  REQUIRE(resnext.layers.size() == resnet.layers.size());
  std::vector<double> errors;
  for (std::size_t i = 0; i < resnet.layers.size(); ++i) {
    const auto& layer = resnext.layers[i];
    const auto& twin = resnet.layers[i];
    if (layer.name != twin.name || layer.kind == "grouped_conv") continue;
    const double factor = scale * ratio_to_twin(layer, twin);
    errors.push_back(std::abs((layer.forward - factor * twin.forward).count()));
    errors.push_back(std::abs((layer.backward - factor * twin.backward).count()));
  }
  CHECK(errors.size() == 2 * (resnet.layers.size() - 16));
  CHECK(std::ranges::max(errors) < 0.2e-6);  // times are written to 0.1 us in both files
}

TEST_CASE("Grouped convolutions reach the one efficiency that the published time leaves",
          "[config][profile]") {
  const auto grouped = by_kind(shipped("resnext50_32x4d")).at("grouped_conv");
  CHECK(grouped.layers == 16);
  // Backward does twice the operations of forward.
  const double peak = shipped_gpu("v100-sxm2-32gb").peak_flops.at("fp32");
  CHECK(3 * grouped.flops / (grouped.time.count() * peak) == Approx(0.115).epsilon(0.01));
}

TEST_CASE("A V100's copy costs reproduce DDP's recorded bucket copies", "[config][gpu]") {
  const auto gpu = shipped_gpu(GENERATE("v100-sxm2-16gb", "v100-sxm2-32gb"));
  // 161 gradients in and 161 back, each element read and written once: 4 x 25557032 x 4 bytes. The
  // stream spent 663.8 + 692.9 us on them.
  const Bytes traffic{std::int64_t{4} * 25'557'032 * 4};
  const BytesPerSecond reachable{gpu.memory_efficiency * gpu.memory_bandwidth.count()};
  const Seconds predicted = 322 * gpu.kernel_overhead + traffic / reachable;
  CHECK(predicted / Seconds{1356.7e-6} == Approx(1).epsilon(0.005));
}

}  // namespace
}  // namespace gradwire::config
