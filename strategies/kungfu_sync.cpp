#include "strategies/kungfu_sync.hpp"

#include <memory>
#include <string>
#include <vector>

#include "strategies/conditional_knobs.hpp"
#include "strategies/kungfu_cpu.hpp"
#include "strategies/kungfu_nccl.hpp"

namespace gradwire {

StrategyMaker KungfuSync::read(Knobs& knobs) {
  static const std::vector<std::string> modes = {"cpu", "nccl", "hierarchical"};
  const std::string mode = knobs.choice(
      "mode", "cpu", modes, "--kf-optimizer=sync-sgd, sync-sgd-nccl, sync-sgd-hierarchical-nccl");
  ConditionalKnobs nccl(knobs);
  const bool fusion = nccl.yes("nccl_fusion", true,
                               "SynchronousSGDOptimizer(nccl_fusion=True): one tensor of all "
                               "gradients; of mode nccl");
  ConditionalKnobs host(knobs);
  const KungfuSessionOptions session = read_kungfu_session(host);
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
  return [session](const JobView& job) { return std::make_unique<KungfuCpu>(session, job, 0); };
}

}  // namespace gradwire
