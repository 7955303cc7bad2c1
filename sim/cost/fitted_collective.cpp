#include "sim/cost/fitted_collective.hpp"

#include <algorithm>
#include <cassert>

namespace gradwire {
namespace {

double first_of(const FitSegment& segment) {
  return static_cast<double>(segment.chunk_first.count());
}

double last_of(const FitSegment& segment) {
  return static_cast<double>(segment.chunk_last.count());
}

/// How far a chunk is from a segment's, as a ratio; 1 inside it.
double distance(const FitSegment& segment, double chunk) {
  if (chunk < first_of(segment)) return first_of(segment) / std::max(chunk, 1.0);
  return std::max(1.0, chunk / last_of(segment));
}

Seconds segment_time(const FitSegment& segment, const CollectiveShape& shape, double size) {
  const Seconds fixed = segment.launch + shape.local_steps * segment.hop_local +
                        shape.network_steps * segment.hop_network;
  const Seconds a_byte =
      std::max(shape.per_byte, segment.link_time * shape.per_byte + segment.local_pass);
  return fixed + size * a_byte;
}

bool counts(const FitSegment& segment, std::string_view algorithm) {
  return algorithm.empty() || segment.algorithm == algorithm;
}

/// The segments on either side of a chunk that none holds; null where there is none.
struct Neighbours {
  const FitSegment* below = nullptr;
  const FitSegment* above = nullptr;
};

Neighbours neighbours_of(const CollectiveFit& fit, double chunk, std::string_view algorithm) {
  Neighbours found;
  for (const FitSegment& segment : fit.segments) {
    if (!counts(segment, algorithm)) continue;
    if (last_of(segment) < chunk) {
      if (found.below == nullptr || last_of(segment) > last_of(*found.below)) {
        found.below = &segment;
      }
    } else if (found.above == nullptr || first_of(segment) < first_of(*found.above)) {
      found.above = &segment;
    }
  }
  return found;
}

}  // namespace

std::string_view priced_as(const CollectiveFit& fit, int ranks, std::string_view algorithm) {
  const bool has_segment =
      std::ranges::find(fit.segments, algorithm, &FitSegment::algorithm) != fit.segments.end();
  const bool is_known = std::ranges::binary_search(fit.ranks, ranks);
  return is_known || !has_segment ? std::string_view() : algorithm;
}

const FitSegment& segment_for(const CollectiveFit& fit, int ranks, Bytes size,
                              std::string_view algorithm) {
  const double chunk = static_cast<double>(size.count()) / ranks;
  const FitSegment* nearest = nullptr;
  for (const FitSegment& segment : fit.segments) {
    if (!counts(segment, algorithm)) continue;
    if (nearest == nullptr || distance(segment, chunk) < distance(*nearest, chunk)) {
      nearest = &segment;
    }
  }
  assert(nearest != nullptr);
  return *nearest;
}

Seconds fitted_time(const CollectiveFit& fit, const CollectiveShape& shape, Bytes size,
                    std::string_view algorithm) {
  const auto bytes = static_cast<double>(size.count());
  const double chunk = bytes / shape.ranks;
  const FitSegment& nearest = segment_for(fit, shape.ranks, size, algorithm);
  const Neighbours gap = neighbours_of(fit, chunk, algorithm);
  const bool inside = first_of(nearest) <= chunk && chunk <= last_of(nearest);
  if (inside || gap.below == nullptr || gap.above == nullptr) {
    return segment_time(nearest, shape, bytes);
  }
  const double from = last_of(*gap.below);
  const double to = first_of(*gap.above);
  const Seconds begin = segment_time(*gap.below, shape, from * shape.ranks);
  const Seconds end = segment_time(*gap.above, shape, to * shape.ranks);
  return begin + (chunk - from) / (to - from) * (end - begin);
}

}  // namespace gradwire
