#include "calibration/fit/layer_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t pairs_max = 50'000'000;

bool is_convolution(const std::string& kind) {
  return kind.find("conv") != std::string::npos;
}

bool same(const AttributedLayer& recorded, const LayerProfile& layer) {
  if (!recorded.parameters.empty() &&
      elements_of(recorded.parameters) != elements_of(layer.parameters)) {
    return false;
  }
  if (recorded.kind_is_guess) return is_convolution(layer.kind);
  return recorded.kind == layer.kind;
}

/// Cost of leaving something alone; equal pairs cost nothing.
enum Cost : std::uint32_t { free_of_charge = 0, charged = 1 };

class Alignment {
 public:
  Alignment(const Attribution& attribution, const StepSummary& summary, const ComputeProfile& model)
      : recorded_(attribution.layers),
        summary_(summary),
        model_(model.layers),
        columns_(model_.size() + 1),
        cost_((recorded_.size() + 1) * columns_) {}

  LayerJoin run() {
    fill();
    return trace_back();
  }

 private:
  [[nodiscard]] bool has_time(std::size_t i) const {
    return summary_.layers[i].forward + summary_.layers[i].backward > Seconds{};
  }
  [[nodiscard]] std::uint32_t alone(std::size_t i) const {
    return has_time(i) ? charged : free_of_charge;
  }
  [[nodiscard]] std::uint32_t absent(std::size_t j) const {
    return model_[j].parameters.empty() && model_[j].kind == "other" ? free_of_charge : charged;
  }
  std::uint32_t& cost(std::size_t i, std::size_t j) { return cost_[i * columns_ + j]; }

  void fill() {
    for (std::size_t i = 0; i <= recorded_.size(); ++i) {
      for (std::size_t j = 0; j <= model_.size(); ++j) {
        if (i == 0 && j == 0) continue;
        std::uint32_t best = UINT32_MAX;
        if (i > 0 && j > 0 && same(recorded_[i - 1], model_[j - 1])) best = cost(i - 1, j - 1);
        if (i > 0) best = std::min(best, cost(i - 1, j) + alone(i - 1));
        if (j > 0) best = std::min(best, cost(i, j - 1) + absent(j - 1));
        cost(i, j) = best;
      }
    }
  }

  LayerJoin trace_back() {
    LayerJoin join;
    join.recorded.assign(model_.size(), -1);
    std::size_t i = recorded_.size();
    std::size_t j = model_.size();
    while (i > 0 || j > 0) {
      if (i > 0 && j > 0 && same(recorded_[i - 1], model_[j - 1]) &&
          cost(i, j) == cost(i - 1, j - 1)) {
        join.recorded[--j] = static_cast<int>(--i);
      } else if (i > 0 && cost(i, j) == cost(i - 1, j) + alone(i - 1)) {
        --i;
        const AttributedLayer& layer = recorded_[i];
        if (has_time(i)) {
          join.left_over += summary_.layers[i].forward + summary_.layers[i].backward;
          join.disagreements.push_back(fmt::format(
              "recorded layer {} '{}' ({}) is none of the model's", i + 1, layer.name, layer.kind));
        }
      } else {
        --j;
        if (absent(j) == charged) {
          join.disagreements.push_back(
              fmt::format("the model's layer {} '{}' ({}) was not recorded", j + 1, model_[j].name,
                          model_[j].kind));
        }
      }
    }
    std::ranges::reverse(join.disagreements);
    return join;
  }

  const std::vector<AttributedLayer>& recorded_;
  const StepSummary& summary_;
  const std::vector<LayerProfile>& model_;
  std::size_t columns_;
  std::vector<std::uint32_t> cost_;  ///< of the first i recorded and the first j of the model
};

}  // namespace

LayerJoin join_layers(const Attribution& attribution, const StepSummary& summary,
                      const ComputeProfile& model, const std::string& file) {
  if ((attribution.layers.size() + 1) > pairs_max / (model.layers.size() + 1)) {
    throw ConfigError({file, 0, 0},
                      fmt::format("{} recorded layers and {} of the model; expected numbers that "
                                  "can be compared",
                                  attribution.layers.size(), model.layers.size()));
  }
  return Alignment(attribution, summary, model).run();
}

}  // namespace gradwire::calibration
