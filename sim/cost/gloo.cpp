#include "sim/cost/gloo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "sim/collectives/host_routes.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/refusal.hpp"
#include "sim/cost/host_copies.hpp"

namespace gradwire {
namespace {

std::int64_t ceil_divided(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

/// How a rank's part is cut.
struct Segments {
  std::int64_t per_part = 2;
  Seconds wire;  ///< of one
  Seconds sum;
};

Segments cut(const GlooOptions& options, CollectiveKind kind, int ranks, Bytes size,
             Seconds part_on_wire) {
  Segments segments;
  if (kind != CollectiveKind::all_gather) {  // which sends halves
    const std::int64_t at_least = 2 * std::int64_t{ranks};
    const std::int64_t bytes =
        std::min(options.constants.segment_max.count(), ceil_divided(size.count(), at_least));
    segments.per_part = ceil_divided(std::max(ceil_divided(size.count(), bytes), at_least), ranks);
  }
  const double in_part = 1.0 / static_cast<double>(segments.per_part);
  segments.wire = in_part * part_on_wire;
  if (reduces_values(kind)) segments.sum = in_part * ((1.0 / ranks) * (size / options.sum_rate));
  return segments;
}

/// One pass around the ring: what each step takes, and what the last one takes longer.
struct Pass {
  Seconds step;
  Seconds tail;
};

Pass pass(const Segments& segments, bool sums, Seconds latency) {
  const Seconds segment = sums ? std::max(segments.wire, segments.sum) : segments.wire;
  const auto count = static_cast<double>(segments.per_part);
  return {.step = std::max(count * segment, (count / 2) * (segment + latency)),
          .tail = std::min(segment, latency)};
}

/// Of an all-gather of two ranks, of which one enters later than a notice takes.
Pass pass_of_pair(const Segments& segments, Seconds latency) {
  const auto count = static_cast<double>(segments.per_part);
  return {.step = (count + 1) * segments.wire + latency, .tail = latency};
}

/// What each process sends of it through the kernel.
Seconds in_kernel(const Pattern& pattern, Bytes size, BytesPerSecond loopback) {
  double share = 0;
  for (const Phase& phase : pattern.phases) share += phase.flows.front().share;
  return share * (size / loopback);
}

}  // namespace

GlooLibrary::GlooLibrary(std::shared_ptr<const Cluster> cluster, const GlooOptions& options)
    : cluster_(std::move(cluster)), options_(options) {
  assert(cluster_ && options_.constants.segment_max.count() > 0 &&
         options_.constants.loopback.count() > 0);
  copy_rate_ = slowest_host_copy(*cluster_);
}

std::vector<Pattern> GlooLibrary::plan(CollectiveKind kind, const Placement& ranks) const {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce:
      return {plan_rank_ring(kind, *cluster_, ranks)};
    case CollectiveKind::broadcast:
      return {plan_eager_tree_broadcast(*cluster_, ranks)};
    default:
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::library,
          fmt::format("library gloo has no {} (ProcessGroupGloo, PyTorch 1.13); expected "
                      "all_reduce, all_gather, broadcast or reduce, or another library",
                      name_of(kind)));
  }
}

CollectiveChoice GlooLibrary::choose(std::span<const Pattern> patterns, Bytes size) const {
  const Pattern& pattern = patterns.front();
  CollectiveCost cost;
  cost.algorithm = pattern.algorithm;
  cost.source = "model";
  if (pattern.phases.empty() || size.count() == 0) return {0, cost};
  const PatternFacts& facts = facts_.of(pattern, cluster_->links());
  const Seconds latency = facts.latency_max() + options_.constants.step;
  if (options_.tensors_on_gpu) {
    cost.startup = host_copies(pattern.kind, pattern.ranks, size, copy_rate_);
  }
  if (facts.ways[0].inside > Seconds{}) {
    cost.startup += in_kernel(pattern, size, options_.constants.loopback);
  }
  Seconds hop = latency;  // of a step beside its bytes
  if (pattern.kind != CollectiveKind::broadcast) {
    // Phase 0 is a ring of n-1 steps; the second phase of an all-reduce is another one.
    const Seconds part =
        (1.0 / (pattern.ranks - 1)) * (static_cast<double>(size.count()) * facts.per_byte[0]);
    const Segments segments = cut(options_, pattern.kind, pattern.ranks, size, part);
    const bool is_pair = pattern.kind == CollectiveKind::all_gather && pattern.ranks == 2;
    const Pass first = is_pair ? pass_of_pair(segments, latency)
                               : pass(segments, reduces_values(pattern.kind), latency);
    hop = first.step - part;
    // Of `count` segments every second waits, and what two collectives send to a peer is queued on
    // one connection (gloo/transport/tcp/pair.cc, sendAsyncMode): one fills the gaps of the other.
    cost.waits_within = true;
    cost.startup += first.tail;
    if (pattern.kind == CollectiveKind::all_reduce) {
      const Pass second = pass(segments, /*sums=*/false, latency);
      hop = 0.5 * (hop + second.step - part);
      cost.startup += second.tail;
    }
    // The gather to the root is one message, which pays the latency and no more.
    if (pattern.kind == CollectiveKind::reduce) {
      cost.startup += std::max(Seconds{}, latency - hop);
    }
  }
  cost.hop_nvlink = hop - facts.latency[0];
  cost.hop_pcie = hop - facts.latency[1];
  cost.hop_network = hop - facts.latency[2];
  return {0, cost};
}

}  // namespace gradwire
