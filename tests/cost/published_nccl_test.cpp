#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/source_dir.hpp"
#include "topologies/links.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

std::shared_ptr<const NodeGraph> shipped_dgx1v() {
  return std::make_shared<const NodeGraph>(
      config::read_node(config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/dgx1v.yaml")));
}

/// Seconds that a straight line through an all-reduce's times over 10 Gbit/s Ethernet starts with:
/// least squares over 32 KiB, 64 KiB, ... 2016 KiB, as MG-WFBP fits it (profiling.py:138-165).
double alpha_of_ethernet(int machines) {
  const auto node = std::make_shared<const NodeGraph>(config::read_node(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/pcie3_4x_2080ti.yaml")));
  Fabric fabric;
  fabric.port = config::shipped_links().find_port("eth_10g")->port;
  const auto hub = fabric.add_switch("switch");
  for (int machine = 0; machine < machines; ++machine) fabric.attach(hub);
  const auto cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(machines), node),
      std::move(fabric));
  NcclOptions options;
  options.version = {2, 4};
  options.constants = config::shipped_nccl(options.version);
  options.gpus["rtx2080ti"] = {75, 616_GBps};
  options.algorithms = {NcclAlgorithm::ring};
  const NcclLibrary library(cluster, options);
  const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 4));
  constexpr int sizes = 63;
  double times = 0;
  double products = 0;
  for (int k = 1; k <= sizes; ++k) {
    const double time = library.choose(patterns, Bytes{k * 32768}).cost.uncontended.value().count();
    times += time;
    products += k * time;
  }
  // Sums of k and of k squared for 1 to n: n (n + 1) / 2 and n (n + 1) (2 n + 1) / 6.
  constexpr double k_sum = sizes * (sizes + 1) / 2.0;
  constexpr double square_sum = sizes * (sizes + 1) * (2 * sizes + 1) / 6.0;
  return (times * square_sum - products * k_sum) / (sizes * square_sum - k_sum * k_sum);
}

}  // namespace

TEST_CASE("The shipped DGX-1V has the rings that NCCL finds on one", "[cost][published]") {
  const auto node = shipped_dgx1v();
  const Cluster one = test::cluster_of({node});
  CHECK(plan_ring_all_reduce(one, packed_placement(one, 8)).channels == 6);
  const Cluster two = test::cluster_of({node, node});
  CHECK(plan_ring_all_reduce(two, packed_placement(two, 8)).channels == 4);
}

TEST_CASE("An all-reduce over 10 Gbit/s Ethernet starts as late as MG-WFBP measured, to a fifth",
          "[cost][published]") {
  // The authors' constants for 10GbE, 4 GPUs a machine: on 4 machines HKBU-HPML/MG-WFBP @5b8ad54,
  // distributed_optimizer.py; on 8 and 16 lzhangbv/dear_pytorch @43138d8,
  // dear/hv_distributed_optimizer.py, without the factor of 3 that it puts on later. NCCL's release
  // is not stated; nothing is fitted to them. On two machines (0.523 ms) the start is predicted a
  // third too early.
  CHECK(alpha_of_ethernet(16) == Approx(2.3476e-3).epsilon(0.2));
  CHECK(alpha_of_ethernet(8) == Approx(1.3476e-3).epsilon(0.2));
  CHECK(alpha_of_ethernet(4) == Approx(0.9081e-3).epsilon(0.2));
}

}  // namespace gradwire
