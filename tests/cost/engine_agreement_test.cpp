#include <memory>

#include "sim/cost/nccl_library.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"
#include "tests/cost/engine_time.hpp"
#include "tests/cost/nccl_options.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

}  // namespace

TEST_CASE("Alone, the engine takes as long as NCCL's model says", "[cost][nccl]") {
  const int nodes = GENERATE(1, 2, 4);
  const auto cluster = std::make_shared<const Cluster>(test::dgx1v_cluster(nodes));
  const Placement members = packed_placement(*cluster, 8);
  const NcclOptions options = test::nccl_options({2, 28}, {70, 900_GBps});
  const NcclLibrary library(cluster, options);
  for (const CollectiveKind kind : collective_kinds()) {
    const std::vector<Pattern> patterns = library.plan(kind, members);
    for (const Bytes size : {Bytes{1024}, 1_MiB, 256_MiB}) {
      const CollectiveChoice choice = library.choose(patterns, size);
      INFO(nodes << " nodes, " << name_of(kind) << " by " << choice.cost.algorithm << "/"
                 << choice.cost.protocol << ", " << size.count() << " B");
      CHECK(test::engine_time(*cluster, patterns[choice.pattern], size, choice.cost) ==
            Approx(choice.cost.uncontended.value().count()).epsilon(1e-9));
    }
  }
}

}  // namespace gradwire
