#include "strategies/peers/kungfu_optimizers.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "strategies/parts/conditional_knobs.hpp"
#include "strategies/peers/kungfu_cpu.hpp"
#include "strategies/peers/kungfu_nccl.hpp"

namespace gradwire {
namespace {

constexpr int interval_most = 1'000'000;

KungfuMonitor read_monitor(Knobs& knobs) {
  static const std::vector<std::string> kinds = {"none", "noise_scale", "variance"};
  const std::string kind =
      knobs.choice("monitor", "none", kinds,
                   "MonitorGradientNoiseScaleOptimizer, MonitorGradientVarianceOptimizer");
  ConditionalKnobs monitored(knobs);
  KungfuMonitor monitor;
  monitor.kind = static_cast<KungfuMonitor::Kind>(std::ranges::find(kinds, kind) - kinds.begin());
  monitor.interval = static_cast<int>(monitored.count("monitor_interval", 1, 1, interval_most,
                                                      "monitor_interval=1, in iterations"));
  if (kind == kinds.front()) monitored.refuse_without("monitor: noise_scale");
  return monitor;
}

}  // namespace

StrategyMaker KungfuSync::read(Knobs& knobs) {
  static const std::vector<std::string> modes = {"cpu", "nccl", "hierarchical"};
  const std::string mode = knobs.choice(
      "mode", "cpu", modes, "--kf-optimizer=sync-sgd, sync-sgd-nccl, sync-sgd-hierarchical-nccl");
  ConditionalKnobs nccl(knobs);
  const bool fusion = nccl.yes("nccl_fusion", true,
                               "SynchronousSGDOptimizer(nccl_fusion=True): one tensor of all "
                               "gradients; of mode nccl");
  ConditionalKnobs host(knobs);
  KungfuSessionOptions session = read_kungfu_session(host);
  ConditionalKnobs server(knobs);
  session.config_server = read_kungfu_config_server(server);
  const KungfuMonitor monitor = read_monitor(knobs);
  if (mode != "cpu" && monitor.kind != KungfuMonitor::Kind::none) {
    knobs.without_effect("monitor", "expected 'mode: cpu' beside it");
  }
  if (mode != "cpu") server.refuse_without("mode: cpu");
  if (mode == "nccl") {
    host.refuse_without("mode: cpu");
  } else {
    nccl.refuse_without("mode: nccl");
  }
  if (mode == "nccl") {
    return [fusion](const JobView& job) { return std::make_unique<KungfuNccl>(job, fusion); };
  }
  if (mode == "hierarchical") {
    return [session](const JobView& job) {
      return std::make_unique<KungfuHierarchical>(session, job);
    };
  }
  return [session, monitor](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, 0, monitor);
  };
}

StrategyMaker KungfuSma::read(Knobs& knobs) {
  auto session = read_kungfu_session(knobs);
  session.config_server = read_kungfu_config_server(knobs);
  return [session](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, KungfuCpu::always);
  };
}

namespace {

constexpr int change_step_default = 10;

}  // namespace

StrategyMaker KungfuAda::read(Knobs& knobs) {
  const auto step = static_cast<int>(
      knobs.count("change_step", change_step_default, 0, std::numeric_limits<int>::max() - 1,
                  "AdaptiveSGDOptimizer(change_step), which has no default: ours is assumed; "
                  "counts iterations from the run's first, warm-up included"));
  const auto session = read_kungfu_session(knobs);
  return [step, session](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, step);
  };
}

}  // namespace gradwire
