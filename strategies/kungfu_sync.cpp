#include "strategies/kungfu_sync.hpp"

#include <memory>
#include <string>
#include <vector>

#include "strategies/kungfu_cpu.hpp"
#include "strategies/kungfu_nccl.hpp"

namespace gradwire {

StrategyMaker KungfuSync::read(Knobs& knobs) {
  static const std::vector<std::string> modes = {"cpu", "nccl", "hierarchical"};
  const std::string mode = knobs.choice(
      "mode", "cpu", modes, "--kf-optimizer=sync-sgd, sync-sgd-nccl, sync-sgd-hierarchical-nccl");
  const bool fusion = knobs.yes("nccl_fusion", true,
                                "SynchronousSGDOptimizer(nccl_fusion=True): one tensor of all "
                                "gradients; of mode nccl");
  if (knobs.given("nccl_fusion") && mode != "nccl") {
    knobs.refuse("nccl_fusion", "'nccl_fusion' is of mode nccl; expected no such key");
  }
  const KungfuSessionOptions session = read_kungfu_session(knobs);
  if (mode == "nccl") {
    return [fusion](const JobView& job) { return std::make_unique<KungfuNccl>(job, fusion); };
  }
  if (mode == "hierarchical") {
    return [session](const JobView& job) {
      return std::make_unique<KungfuHierarchical>(session, job);
    };
  }
  return [session](const JobView& job) { return std::make_unique<KungfuCpu>(session, job, 0); };
}

}  // namespace gradwire
