#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/config/node_yaml.hpp"
#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/source_dir.hpp"
#include "topologies/links.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

std::vector<MeasuredSeries> published() {
  return config::read_collective_table(
             config::load_yaml(GRADWIRE_SOURCE_DIR "/profiles/collectives/dgx1v_nccl.yaml"))
      .series;
}

std::shared_ptr<const NodeGraph> shipped_dgx1v() {
  return std::make_shared<const NodeGraph>(
      config::read_node(config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/dgx1v.yaml")));
}

/// Largest relative error of the model from `from` on; prints every row.
double worst_error(const MeasuredSeries& series, NcclVersion version, Bytes from) {
  const auto cluster = std::make_shared<const Cluster>(
      test::cluster_of(std::vector<std::shared_ptr<const NodeGraph>>(
          static_cast<std::size_t>(series.machines), shipped_dgx1v())));
  NcclOptions options;
  options.version = version;
  options.gpus["v100-sxm2"] = {70, 900_GBps};
  const NcclLibrary library(cluster, options);
  const auto patterns =
      library.plan(series.op, packed_placement(*cluster, series.ranks / series.machines));
  double worst = 0;
  std::cout << fmt::format("{} ranks on {} nodes, NCCL 2.{}\n", series.ranks, series.machines,
                           version.minor);
  for (const MeasuredRow& row : series.rows) {
    const CollectiveCost cost = library.choose(patterns, row.size).cost;
    const double error = cost.alone.value() / row.time - 1;
    std::cout << fmt::format("{:>12} B {:>10.1f} us, {:<4} {:<6} {:+6.1f} %\n", row.size.count(),
                             row.time.count() * 1e6, cost.algorithm, cost.protocol, 100 * error);
    if (row.size >= from) worst = std::max(worst, std::abs(error));
  }
  return worst;
}

/// Seconds that a straight line through an all-reduce's times over 10 Gbit/s Ethernet starts with:
/// least squares over 32 KiB, 64 KiB, ... 2016 KiB, as MG-WFBP fits it (profiling.py:138-165).
double alpha_of_ethernet(int machines) {
  const auto node = std::make_shared<const NodeGraph>(config::read_node(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/pcie3_4x_2080ti.yaml")));
  Fabric fabric;
  fabric.port = find_port_kind("eth_10g")->port;
  const auto hub = fabric.add_switch("switch");
  for (int machine = 0; machine < machines; ++machine) fabric.attach(hub);
  const auto cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(machines), node),
      std::move(fabric));
  NcclOptions options;
  options.version = {2, 4};
  options.gpus["rtx2080ti"] = {75, 616_GBps};
  options.algorithms = {NcclAlgorithm::ring};
  const NcclLibrary library(cluster, options);
  const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 4));
  constexpr int sizes = 63;
  double times = 0;
  double products = 0;
  for (int k = 1; k <= sizes; ++k) {
    const double time = library.choose(patterns, Bytes{k * 32768}).cost.alone.value().count();
    times += time;
    products += k * time;
  }
  // Sums of k and of k squared for 1 to n: n (n + 1) / 2 and n (n + 1) (2 n + 1) / 6.
  constexpr double k_sum = sizes * (sizes + 1) / 2.0;
  constexpr double square_sum = sizes * (sizes + 1) * (2 * sizes + 1) / 6.0;
  return (times * square_sum - products * k_sum) / (sizes * square_sum - k_sum * k_sum);
}

}  // namespace

// The versions are not known. The bounds are what was found, rounded up: they catch a change for
// the worse. vtrain-v100-8gpu from 1 to 8 MiB is one of the series that a constant was fitted to
// (nccl_fits()), the other rows were not.

TEST_CASE("The shipped DGX-1V has the rings that NCCL finds on one", "[cost][published]") {
  const auto node = shipped_dgx1v();
  const Cluster one = test::cluster_of({node});
  CHECK(plan_ring_all_reduce(one, packed_placement(one, 8)).channels == 6);
  const Cluster two = test::cluster_of({node, node});
  CHECK(plan_ring_all_reduce(two, packed_placement(two, 8)).channels == 4);
}

TEST_CASE("NCCL's model is near the published times inside a DGX-1V", "[cost][published]") {
  int series_found = 0;
  for (const MeasuredSeries& series : published()) {
    if (series.machines != 1) continue;
    ++series_found;
    CHECK(worst_error(series, {2, 10}, 1_MiB) < 0.21);
    CHECK(worst_error(series, {2, 10}, 16_MiB) < 0.08);
  }
  CHECK(series_found == 5);
}

TEST_CASE("NCCL's model is within a third of the published times on two DGX-1V",
          "[cost][published]") {
  const auto all = published();
  const auto two_nodes =
      std::find_if(all.begin(), all.end(), [](const auto& series) { return series.machines == 2; });
  REQUIRE(two_nodes != all.end());
  CHECK(two_nodes->ranks == 16);
  CHECK(worst_error(*two_nodes, {2, 8}, 1_MiB) < 0.30);
  CHECK(worst_error(*two_nodes, {2, 8}, 8_MiB) < 0.17);
}

TEST_CASE(
    "An all-reduce over 10 Gbit/s Ethernet starts as late as MG-WFBP measured from 16 ranks on",
    "[cost][published]") {
  // The authors' constants for 10GbE, 4 GPUs a machine: on 2 and 4 machines HKBU-HPML/MG-WFBP
  // @5b8ad54, distributed_optimizer.py; on 8 and 16 lzhangbv/dear_pytorch @43138d8,
  // dear/hv_distributed_optimizer.py, without the factor of 3 that it puts on later. NCCL's release
  // is not stated; nothing is fitted to them. The bounds are what was found, rounded up: on two
  // machines the start is predicted too early.
  CHECK(alpha_of_ethernet(16) == Approx(2.3476e-3).epsilon(0.14));
  CHECK(alpha_of_ethernet(8) == Approx(1.3476e-3).epsilon(0.14));
  CHECK(alpha_of_ethernet(4) == Approx(0.9081e-3).epsilon(0.10));
  CHECK(alpha_of_ethernet(2) == Approx(0.5230e-3).epsilon(0.34));
}

}  // namespace gradwire
