#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/profile/model_catalogue.hpp"
#include "sim/models/analytic_profile.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("every GPU has fp32, a size, a bandwidth and efficiencies of the types it computes in",
          "[models][gpus]") {
  for (const std::string& name : config::data_names(config::DataKind::gpu)) {
    INFO(name);
    const GpuSpec gpu = config::shipped_gpu(name, {});
    CHECK(gpu.name == name);
    CHECK(gpu.memory_size > Bytes{0});
    CHECK(gpu.peak_flops.contains("fp32"));
    for (const auto& [dtype, flops] : gpu.peak_flops) {
      INFO(dtype);
      if (dtype != "fp64") CHECK(gpu.efficiency.contains(dtype));
    }
  }
}

TEST_CASE("a profile can be asked for the GPU of every node that ships", "[models][gpus]") {
  for (const std::string& name : config::data_names(config::DataKind::node)) {
    const NodeGraph node = config::read_node(
        config::load_yaml(config::data_file(config::DataKind::node, name).string()));
    for (const DeviceId gpu : node.gpus()) {
      INFO(name << ": " << node.device(gpu).model);
      CHECK(config::described_gpu(node.device(gpu).model));
    }
  }
}

TEST_CASE("a GPU that an imported topology names is described", "[models][gpus]") {
  for (int device = 0; device <= 0xffff; ++device) {
    const std::string name =
        config::shipped_links().gpu_of_pci_device(fmt::format("{:#06x}", device));
    INFO(name);
    if (!name.empty()) CHECK(config::shipped_gpu(name, {}).name == name);
  }
}

TEST_CASE("every model has an analytic profile on every GPU in every type", "[models][gpus]") {
  for (const std::string& name : config::data_names(config::DataKind::gpu)) {
    const GpuSpec gpu = config::shipped_gpu(name, {});
    for (const config::ModelEntry& entry : config::model_catalogue()) {
      const ModelDescription model = entry.make({});
      for (const auto& [dtype, efficiencies] : gpu.efficiency) {
        INFO(entry.name << " on " << name << ", " << dtype);
        const ComputeProfile profile =
            analytic_profile(config::shipped_hosts(), model, gpu, 4, dtype);
        CHECK(std::isfinite(profile.iteration.count()));
        CHECK(profile.forward() > Seconds{0});
        // AlexNet in 16 bits is mostly its first layer, which has no gradient for its input; of
        // Mask R-CNN the first stage, the norms and the proposals do not train.
        const bool forward_mostly = entry.name == "alexnet" || entry.name == "mask_rcnn";
        const double least = forward_mostly ? 0.5 : 1;
        CHECK(profile.backward() > least * profile.forward());
        CHECK(profile.iteration >= profile.forward() + profile.backward() + profile.optimizer);
        CHECK(profile.tensor_count() == static_cast<int>(profile.gradient_order.size()));
      }
    }
  }
}

TEST_CASE("networks of convolutions are as fast in TF32 as in fp32, but for layouts",
          "[models][gpus]") {
  // Kernels that change layouts stand around tensor cores': of few channels some twentieth.
  constexpr double layouts = 1.06;
  static const std::set<std::string> convolutions = {"resnet50", "vgg16", "inception_v3",
                                                     "densenet121", "jasper"};
  for (const std::string& name : config::data_names(config::DataKind::gpu)) {
    const GpuSpec gpu = config::shipped_gpu(name, {});
    if (!gpu.peak_flops.contains("tf32")) continue;
    for (const config::ModelEntry& entry : config::model_catalogue()) {
      if (!convolutions.contains(entry.name)) continue;
      INFO(entry.name << " on " << name);
      const auto busy = [&](const char* dtype) {
        const ComputeProfile profile =
            analytic_profile(config::shipped_hosts(), entry.make({}), gpu, 32, dtype);
        return (profile.forward() + profile.backward()).count();
      };
      CHECK(busy("tf32") < layouts * busy("fp32"));
    }
  }
}
