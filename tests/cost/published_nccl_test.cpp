#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/config/node_yaml.hpp"
#include "sim/cost/nccl_ring.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

std::vector<MeasuredSeries> published() {
  return config::read_collective_series(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/profiles/collectives/dgx1v_nccl.yaml"));
}

std::shared_ptr<const NodeGraph> shipped_dgx1v() {
  return std::make_shared<const NodeGraph>(
      config::read_node(config::load_yaml(GRADWIRE_SOURCE_DIR "/topologies/nodes/dgx1v.yaml")));
}

/// Largest relative error of the model from `from` on; prints every row.
double worst_error(const MeasuredSeries& series, NcclVersion version, Bytes from) {
  const Cluster cluster = test::cluster_of(std::vector<std::shared_ptr<const NodeGraph>>(
      static_cast<std::size_t>(series.machines), shipped_dgx1v()));
  const Pattern pattern =
      plan_ring_all_reduce(cluster, packed_placement(cluster, series.ranks / series.machines));
  const NcclRing model(cluster, version);
  double worst = 0;
  std::cout << fmt::format("{} ranks on {} nodes, {} rings, NCCL 2.{}\n", series.ranks,
                           series.machines, pattern.channels, version.minor);
  for (const MeasuredRow& row : series.rows) {
    const double error = model.time_alone(pattern, row.size) / row.time - 1;
    std::cout << fmt::format("{:>12} B {:>10.1f} us, {:<6} {:+6.1f} %\n", row.size.count(),
                             row.time.count() * 1e6, model.price(pattern, row.size).protocol,
                             100 * error);
    if (row.size >= from) worst = std::max(worst, std::abs(error));
  }
  return worst;
}

}  // namespace

// The model's constants are NCCL's own and the lane's rate; nothing is fitted to these tables. The
// bounds are what was found, rounded up: they catch a change for the worse.

TEST_CASE("The shipped DGX-1V has the rings that NCCL finds on one", "[cost][published]") {
  const auto node = shipped_dgx1v();
  const Cluster one = test::cluster_of({node});
  CHECK(plan_ring_all_reduce(one, packed_placement(one, 8)).channels == 6);
  const Cluster two = test::cluster_of({node, node});
  CHECK(plan_ring_all_reduce(two, packed_placement(two, 8)).channels == 4);
}

TEST_CASE("NCCL's rings are near the published times inside a DGX-1V", "[cost][published]") {
  int series_found = 0;
  for (const MeasuredSeries& series : published()) {
    if (series.machines != 1) continue;
    ++series_found;
    // Between 2 and 8 MiB the published runs are slower, as if on fewer channels: not modelled.
    CHECK(worst_error(series, {2, 4}, 1_MiB) < 0.30);
    CHECK(worst_error(series, {2, 8}, 16_MiB) < 0.08);
  }
  CHECK(series_found == 5);
}

TEST_CASE("NCCL's rings are within a fifth of the published times on two DGX-1V",
          "[cost][published]") {
  // From 64 MiB on the published runs beat any ring: a tree ran.
  const auto all = published();
  const auto two_nodes =
      std::find_if(all.begin(), all.end(), [](const auto& series) { return series.machines == 2; });
  REQUIRE(two_nodes != all.end());
  CHECK(two_nodes->ranks == 16);
  CHECK(worst_error(*two_nodes, {2, 4}, 1_MiB) < 0.21);
}

}  // namespace gradwire
