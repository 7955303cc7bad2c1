#include "sim/cost/collective_library.hpp"

#include <utility>

#include "sim/collectives/algorithms.hpp"

namespace gradwire {

RingLibrary::RingLibrary(std::shared_ptr<const Cluster> cluster,
                         std::shared_ptr<const CostModel> model)
    : cluster_(std::move(cluster)), model_(std::move(model)) {}

std::vector<Pattern> RingLibrary::plan(CollectiveKind kind, const Placement& ranks) const {
  const bool has_ring = find_algorithm("ring", kind) != nullptr;
  return {plan_collective(kind, has_ring ? "ring" : "pairwise", *cluster_, ranks)};
}

CollectiveChoice RingLibrary::choose(std::span<const Pattern> patterns, Bytes size) const {
  return {0, model_->price(patterns.front(), size)};
}

}  // namespace gradwire
