#include "sim/models/mean_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace gradwire {
namespace {

Bytes kept(const WeightedProfile& one) {
  return one.profile.activations.value_or(Bytes{0}) + one.profile.logits;
}

}  // namespace

ComputeProfile mean_profile(std::span<const WeightedProfile> of) {
  ComputeProfile mean = std::ranges::max_element(of, {}, kept)->profile;
  const auto average = [&](auto& member_of_mean, const auto& member) {
    using Value = std::remove_cvref_t<decltype(member_of_mean)>;
    Value sum{};
    for (const WeightedProfile& one : of) sum += one.share * member(one.profile);
    member_of_mean = sum;
  };
  const auto whole = [&](auto& member_of_mean, const auto& member) {
    double sum = 0;
    average(sum, [&](const ComputeProfile& one) { return static_cast<double>(member(one)); });
    member_of_mean = static_cast<std::remove_cvref_t<decltype(member_of_mean)>>(std::llround(sum));
  };
  for (std::size_t l = 0; l < mean.layers.size(); ++l) {
    LayerProfile& layer = mean.layers[l];
    average(layer.forward, [&](const ComputeProfile& one) { return one.layers[l].forward; });
    average(layer.backward, [&](const ComputeProfile& one) { return one.layers[l].backward; });
    average(layer.flops, [&](const ComputeProfile& one) { return one.layers[l].flops; });
    if (layer.launches) {
      average(layer.launches->forward,
              [&](const ComputeProfile& one) { return one.layers[l].launches->forward; });
      average(layer.launches->backward,
              [&](const ComputeProfile& one) { return one.layers[l].launches->backward; });
    }
    for (std::size_t p = 0; p < layer.parameters.size(); ++p) {
      whole(layer.parameters[p].sparse_rows,
            [&](const ComputeProfile& one) { return one.layers[l].parameters[p].sparse_rows; });
    }
  }
  average(mean.iteration, [](const ComputeProfile& one) { return one.iteration; });
  average(mean.gpu_busy, [](const ComputeProfile& one) { return one.gpu_busy; });
  average(mean.optimizer, [](const ComputeProfile& one) { return one.optimizer; });
  average(mean.recomputed_flops, [](const ComputeProfile& one) { return one.recomputed_flops; });
  whole(mean.tokens_per_sample, [](const ComputeProfile& one) { return one.tokens_per_sample; });
  return mean;
}

}  // namespace gradwire
