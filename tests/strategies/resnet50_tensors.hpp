#pragma once

#include <string>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire::test {

/// ResNet-50's 161 parameter tensors in registration order, from the architecture (He et al., CVPR
/// 2016, table 1; torchvision's order: conv1, bn1, conv2, bn2, conv3, bn3, downsample in a block).
inline std::vector<TensorInfo> resnet50_tensors() {
  std::vector<TensorInfo> tensors;
  int layer = 0;
  const auto add = [&](const std::string& name, std::int64_t elements) {
    tensors.push_back({name, elements, layer++});
  };
  const auto conv_norm = [&](const std::string& name, std::int64_t kernel, std::int64_t in,
                             std::int64_t out) {
    add(name + ".weight", kernel * kernel * in * out);
    add(name + ".norm.weight", out);
    add(name + ".norm.bias", out);
  };
  conv_norm("conv1", 7, 3, 64);
  std::int64_t in = 64;
  const std::vector<int> blocks = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t width = 64LL << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      conv_norm(name + ".conv1", 1, in, width);
      conv_norm(name + ".conv2", 3, width, width);
      conv_norm(name + ".conv3", 1, width, 4 * width);
      if (block == 0) conv_norm(name + ".downsample", 1, in, 4 * width);
      in = 4 * width;
    }
  }
  add("fc.weight", 2048 * 1000);
  add("fc.bias", 1000);
  return tensors;
}

/// A job on ResNet-50; gradients arrive in reverse registration order.
inline JobView resnet50_job() {
  JobView job;
  job.world_size = 16;
  job.tensors = resnet50_tensors();
  job.gradient_order = reverse_registration_order(static_cast<int>(job.tensors.size()));
  job.buffer_tensors = 3 * 53;
  job.buffer_elements = 53'120 + 53;
  return job;
}

}  // namespace gradwire::test
