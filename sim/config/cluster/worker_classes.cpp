#include "sim/config/cluster/worker_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
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

  /// The class of a GPU, made when it is the first.
  int of(const Device& device) {
    const std::string& model = device.model;
    const auto known = by_device_.find({model, device.clock});
    if (known != by_device_.end()) return known->second;
    const bool same = model.empty() || board_of(model) == board_of(profile_.gpu);
    std::optional<GpuSpec> gpu = same || !mixed_ ? std::nullopt : described_gpu(model);
    if (gpu && !supports(*gpu, dtype_)) {
      throw ConfigError(where_,
                        fmt::format("the profile is in {}, which {} does not have; expected "
                                    "a type that every GPU of the cluster has",
                                    dtype_, gpu->name));
    }
    const std::string name = gpu ? gpu->name : "";
    const double share = clock_share(device);
    const auto [entry, is_new] =
        by_gpu_.try_emplace({name, share}, static_cast<int>(classes.size()));
    if (is_new) {
      classes.push_back({derived(gpu, share), gpu ? *gpu : gpu_});
      classes.back().gpu.clock_share = share;
    }
    if (!same) warn(model, name);
    by_device_[{model, device.clock}] = entry->second;
    return entry->second;
  }

  std::vector<WorkerClass> classes;
  std::vector<Warning> warnings;

 private:
  /// By the GPUs as they are described: the scenario's `gpu:` changes only what it is asked to.
  /// @param gpu  none: the profile's.
  [[nodiscard]] ComputeProfile derived(const std::optional<GpuSpec>& gpu, double share) const {
    if (!gpu && share == 1) return profile_;
    const GpuSpec from = shipped_gpu(profile_.gpu, where_);
    GpuSpec to = gpu.value_or(from);
    to.clock_share = share;
    return derived_for_gpu(profile_, from, to);
  }

  /// Of the clock of its peaks, what a cap leaves a GPU.
  static double clock_share(const Device& device) {
    if (device.clock <= Hertz{0}) return 1;
    return device.clock / described_gpu(device.model).value().clock;
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
         fmt::format("the profile is of {}, the cluster's GPUs are {}; compute times are {}",
                     profile_.gpu, model, times)});
  }

  const ComputeProfile profile_;
  const GpuSpec gpu_;
  SourceLocation where_;
  std::string dtype_;
  bool mixed_;
  std::map<std::pair<std::string, Hertz>, int> by_device_;  ///< model and clock
  std::map<std::pair<std::string, double>, int> by_gpu_;    ///< "": as the profile; its clock_share
};

}  // namespace

void give_worker_classes(Scenario& scenario, const SourceLocation& where) {
  const auto device_of = [&](const GpuRef& place) -> const Device& {
    const NodeGraph& node = scenario.cluster->node(place.node);
    return node.device(node.gpus()[static_cast<std::size_t>(place.gpu)]);
  };
  // Machines of a type share their devices: these are few.
  std::vector<const Device*> devices;
  std::unordered_map<const Device*, int> number_of;  // looked up, never walked
  std::vector<int> of_rank;                          // which device
  of_rank.reserve(scenario.placement.size());
  for (const GpuRef& place : scenario.placement) {
    const Device& device = device_of(place);
    const auto [found, is_new] = number_of.try_emplace(&device, static_cast<int>(devices.size()));
    if (is_new) devices.push_back(&device);
    of_rank.push_back(found->second);
  }
  const bool mixed = std::ranges::any_of(devices, [&](const Device* device) {
    return board_of(device->model) != board_of(devices.front()->model);
  });
  Classes classes(scenario, mixed, where);
  std::vector<int> class_of;
  class_of.reserve(devices.size());
  for (const Device* device : devices) class_of.push_back(classes.of(*device));
  for (int& number : of_rank) number = class_of[static_cast<std::size_t>(number)];
  scenario.warnings.insert(scenario.warnings.end(), classes.warnings.begin(),
                           classes.warnings.end());
  scenario.profile = std::move(classes.classes.front().profile);
  scenario.gpu = std::move(classes.classes.front().gpu);
  classes.classes.erase(classes.classes.begin());
  if (classes.classes.empty()) return;
  scenario.classes = {std::move(classes.classes), std::move(of_rank)};
}

}  // namespace gradwire::config
