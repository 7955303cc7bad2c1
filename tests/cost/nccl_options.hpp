#pragma once

#include <memory>

#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire::test {

inline const NcclGpu v100{70, BytesPerSecond{900e9}};

inline const NcclConstants& nccl_2_28() {
  static const NcclConstants constants = config::shipped_nccl({2, 28});
  return constants;
}

/// GPUs of the test nodes have no model.
inline NcclOptions nccl_options(NcclVersion version, const NcclGpu& gpu) {
  NcclOptions options;
  options.version = version;
  options.constants = config::shipped_nccl(version);
  options.gpus[""] = gpu;
  return options;
}

inline std::shared_ptr<const Cluster> dgx1v(int nodes) {
  return std::make_shared<const Cluster>(dgx1v_cluster(nodes));
}

}  // namespace gradwire::test
