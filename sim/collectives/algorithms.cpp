#include "sim/collectives/algorithms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/collectives/broadcast.hpp"
#include "sim/collectives/ring_all_reduce.hpp"
#include "sim/core/error.hpp"

namespace gradwire {

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> catalogue = {
      {"ring",
       "each rank sends to the next one around a ring; several rings share the bytes",
       "any number of ranks",
       "P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009); NCCL, "
       "src/graph/rings.cc",
       {{CollectiveKind::all_reduce, "2(n-1)", "2(n-1)/n S", plan_ring_all_reduce},
        {CollectiveKind::broadcast, "n-1 hops, in pieces", "S", plan_broadcast}}},
  };
  return catalogue;
}

const AlgorithmVariant* find_algorithm(std::string_view name, CollectiveKind kind) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name != name) continue;
    const auto found = std::ranges::find(algorithm.variants, kind, &AlgorithmVariant::kind);
    return found == algorithm.variants.end() ? nullptr : &*found;
  }
  return nullptr;
}

Pattern plan_collective(CollectiveKind kind, std::string_view algorithm, const Cluster& cluster,
                        const Placement& members) {
  const AlgorithmVariant* variant = find_algorithm(algorithm, kind);
  if (variant != nullptr) return variant->plan(cluster, members);
  std::vector<std::string_view> able;
  for (const Algorithm& other : algorithms()) {
    if (find_algorithm(other.name, kind) != nullptr) able.push_back(other.name);
  }
  throw SimulationError(fmt::format("no algorithm '{}' for {}; expected {}", algorithm,
                                    name_of(kind), fmt::join(able, ", ")));
}

}  // namespace gradwire
