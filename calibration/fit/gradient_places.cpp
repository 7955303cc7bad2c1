#include "calibration/fit/gradient_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

/// Of all gradients: keeps their sum within 64 bits; no model comes near.
constexpr std::int64_t elements_max = std::int64_t{1} << 62U;

class Gradients {
 public:
  Gradients(const Workload& workload, const Attribution& attribution,
            const std::map<std::size_t, std::size_t>& layer_at, const std::string& file,
            ComputeProfile& profile)
      : workload_(workload),
        attribution_(attribution),
        layer_at_(layer_at),
        file_(file),
        profile_(profile) {
    std::map<std::string, std::vector<Seconds>> ready;
    for (const IterationTimes& times : attribution.iterations) {
      for (const ReadyGradient& gradient : times.gradients) {
        ready[gradient.parameter].push_back(Seconds{1e-9 * static_cast<double>(gradient.ready)});
        layer_of_.insert_or_assign(gradient.parameter, gradient.layer);
      }
    }
    for (const auto& [name, samples] : ready) ready_[name] = percentiles_of(samples).p50;
  }

  PlacedGradients place() {
    std::map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < profile_.layers.size(); ++i) by_name[profile_.layers[i].name] = i;
    for (ParameterSpec parameter : workload_.parameters) {
      const std::size_t layer = layer_of(parameter.name, by_name);
      if (const auto ready = ready_.find(parameter.name); ready != ready_.end()) {
        parameter.ready = ready->second;
      }
      profile_.layers[layer].parameters.push_back(std::move(parameter));
    }
    PlacedGradients placed;
    if (!ready_.empty()) {
      placed.param_bytes = static_cast<double>(marked_elements()) /
                           static_cast<double>(elements_of(workload_.parameters));
    }
    take_registration();
    placed.note = take_order();
    return placed;
  }

 private:
  [[nodiscard]] std::size_t layer_of(const std::string& parameter,
                                     const std::map<std::string, std::size_t>& by_name) const {
    // The module that holds it, or a module around that.
    for (std::size_t dot = parameter.rfind('.'); dot != std::string::npos && dot > 0;
         dot = parameter.rfind('.', dot - 1)) {
      const auto named = by_name.find(parameter.substr(0, dot));
      if (named != by_name.end()) return named->second;
    }
    if (const auto marked = layer_of_.find(parameter); marked != layer_of_.end()) {
      const auto layer = layer_at_.find(static_cast<std::size_t>(marked->second));
      if (marked->second >= 0 && layer != layer_at_.end()) return layer->second;
    }
    fail(
        fmt::format("parameter '{}' belongs to no layer; expected a module of its name, or "
                    "the mark of its gradient behind a layer's backward",
                    parameter));
  }

  /// Elements that became ready in an iteration; the last one's, they do not change.
  [[nodiscard]] std::int64_t marked_elements() const {
    std::int64_t sum = 0;
    for (const ReadyGradient& gradient : attribution_.iterations.back().gradients) {
      sum += std::min(gradient.elements, elements_max - sum);
    }
    return sum;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, 0, 0}, message);
  }

  void take_registration() {
    for (const ParameterSpec& parameter : workload_.parameters) {
      ids_.emplace(parameter.name, static_cast<TensorId>(ids_.size()));
    }
    if (ids_.size() != workload_.parameters.size()) {
      fail("the workload names a parameter twice; expected each once");
    }
    // registration[id] is the tensor's place along the layers.
    profile_.registration.assign(ids_.size(), 0);
    int place = 0;
    bool as_they_run = true;
    for (const LayerProfile& layer : profile_.layers) {
      for (const ParameterSpec& parameter : layer.parameters) {
        as_they_run = as_they_run && ids_.at(parameter.name) == place;
        profile_.registration[static_cast<std::size_t>(ids_.at(parameter.name))] = place++;
      }
    }
    if (as_they_run) profile_.registration.clear();
  }

  /// @return what to tell, where the marks do not say it
  std::string take_order() {
    std::vector<TensorId>& order = profile_.gradient_order;
    for (const ReadyGradient& gradient : attribution_.iterations.back().gradients) {
      const auto id = ids_.find(gradient.parameter);
      // Accumulated twice: the first mark counts.
      const bool is_new = id != ids_.end() && std::ranges::find(order, id->second) == order.end();
      if (is_new) order.push_back(id->second);
    }
    if (order.size() == ids_.size()) return "";
    order = reverse_registration_order(static_cast<int>(ids_.size()));
    return "no complete set of gradients' marks: gradients are taken to become ready in the "
           "reverse order of registration";
  }

  const Workload& workload_;
  const Attribution& attribution_;
  const std::map<std::size_t, std::size_t>& layer_at_;
  const std::string& file_;
  ComputeProfile& profile_;
  std::map<std::string, Seconds> ready_;
  std::map<std::string, int> layer_of_;
  std::map<std::string, TensorId> ids_;
};

}  // namespace

PlacedGradients place_gradients(const Workload& workload, const Attribution& attribution,
                                const std::map<std::size_t, std::size_t>& layer_at,
                                const std::string& file, ComputeProfile& profile) {
  return Gradients(workload, attribution, layer_at, file, profile).place();
}

}  // namespace gradwire::calibration
