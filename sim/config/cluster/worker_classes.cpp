#include "sim/config/cluster/worker_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/core/cluster.hpp"
#include "sim/models/derived_profile.hpp"
#include "sim/models/efficiencies.hpp"

namespace gradwire::config {
namespace {

class Classes {
 public:
  Classes(const Scenario& scenario, bool mixed, SourceLocation where)
      : profile_(*scenario.profile),
        gpu_(scenario.gpu),
        where_(std::move(where)),
        dtype_(profile_.dtype),
        mixed_(mixed) {}

  /// The class of a GPU of this model, made when it is the first.
  int of(const std::string& model) {
    const auto known = by_model_.find(model);
    if (known != by_model_.end()) return known->second;
    const bool same = model.empty() || board_of(model) == board_of(profile_.gpu);
    std::optional<GpuSpec> gpu = same || !mixed_ ? std::nullopt : described_gpu(model);
    if (gpu && !supports(*gpu, dtype_)) {
      throw ConfigError(where_,
                        fmt::format("the profile is in {}, which {} does not have; expected "
                                    "a type that every GPU of the cluster has",
                                    dtype_, gpu->name));
    }
    const std::string name = gpu ? gpu->name : "";
    const auto [entry, is_new] = by_gpu_.try_emplace(name, static_cast<int>(classes.size()));
    if (is_new) {
      classes.push_back(gpu ? WorkerClass{derived(*gpu), *gpu} : WorkerClass{profile_, gpu_});
    }
    if (!same) warn(model, name);
    by_model_[model] = entry->second;
    return entry->second;
  }

  std::vector<WorkerClass> classes;
  std::vector<Warning> warnings;

 private:
  /// By the GPUs as they are described: the scenario's `gpu:` changes only what it is asked to.
  [[nodiscard]] ComputeProfile derived(const GpuSpec& gpu) const {
    return derived_for_gpu(profile_, shipped_gpu(profile_.gpu, where_), gpu);
  }

  void warn(const std::string& model, const std::string& name) {
    std::string times = mixed_ ? "the profile's"
                               : "the profile's; 'gpu' in 'profile' derives others, 'gpu' in "
                                 "'cluster' says what the machines have";
    if (!name.empty()) {
      times = name == model ? "derived" : fmt::format("derived, for {}", name);
    }
    warnings.push_back(
        {"gpu-differs",
         fmt::format("the profile is of {}, the cluster's GPUs are {}; compute times "
                     "are {}",
                     profile_.gpu, model, times)});
  }

  const ComputeProfile profile_;
  const GpuSpec gpu_;
  SourceLocation where_;
  std::string dtype_;
  bool mixed_;
  std::map<std::string, int> by_model_;
  std::map<std::string, int> by_gpu_;  ///< "": as the profile
};

}  // namespace

void give_worker_classes(Scenario& scenario, const SourceLocation& where) {
  const auto model_of = [&](const GpuRef& place) -> const std::string& {
    const NodeGraph& node = scenario.cluster->node(place.node);
    return node.device(node.gpus()[static_cast<std::size_t>(place.gpu)]).model;
  };
  const bool mixed = std::ranges::any_of(scenario.placement, [&](const GpuRef& place) {
    return board_of(model_of(place)) != board_of(model_of(scenario.placement.front()));
  });
  Classes classes(scenario, mixed, where);
  std::vector<int> of_rank;
  of_rank.reserve(scenario.placement.size());
  for (const GpuRef& place : scenario.placement) of_rank.push_back(classes.of(model_of(place)));
  scenario.warnings.insert(scenario.warnings.end(), classes.warnings.begin(),
                           classes.warnings.end());
  scenario.profile = std::move(classes.classes.front().profile);
  scenario.gpu = std::move(classes.classes.front().gpu);
  classes.classes.erase(classes.classes.begin());
  if (classes.classes.empty()) return;
  scenario.classes = {std::move(classes.classes), std::move(of_rank)};
}

}  // namespace gradwire::config
