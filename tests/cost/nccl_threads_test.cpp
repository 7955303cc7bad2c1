#include <memory>
#include <span>
#include <vector>

#include "sim/core/parallel.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/nccl_options.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire {

using namespace test;

TEST_CASE("Patterns of 4096 ranks, whose routes are found meanwhile, are alike on 1 and 3 threads",
          "[cost][nccl][threads]") {
  constexpr int machines = 512;
  const PortGroup ports{.machines = machines,
                        .nics = static_cast<int>(dgx1v()->nics().size()),
                        .port = {"ib_edr", "ib", BytesPerSecond{12.07e9}, Seconds{0.5e-6}}};
  const FatTreeShape shape{.machines_per_leaf = 4,
                           .spines = 2,
                           .trunk = {LinkKind::network, ports.port.bandwidth, ports.port.latency}};
  const auto planned_on = [&](int threads) {
    const auto cluster = std::make_shared<const Cluster>(
        std::vector<std::shared_ptr<const NodeGraph>>(machines, dgx1v()),
        fat_tree(std::span(&ports, 1), shape));
    use_threads(threads);
    auto patterns = NcclLibrary(cluster, nccl_options({2, 8}, v100))
                        .plan_folded(CollectiveKind::all_reduce, packed_placement(*cluster, 8));
    use_threads(1);
    return patterns;
  };
  const auto one = planned_on(1);
  const auto three = planned_on(3);
  REQUIRE(one.size() == 2);  // tree and ring
  REQUIRE(three.size() == 2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(three[i].algorithm == one[i].algorithm);
    CHECK(three[i].key == one[i].key);
    CHECK(three[i].path_links == one[i].path_links);
  }
}

}  // namespace gradwire
