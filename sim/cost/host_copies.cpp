#include "sim/cost/host_copies.hpp"

#include <algorithm>
#include <cassert>

#include "sim/core/cluster.hpp"

namespace gradwire {

Seconds host_copies(CollectiveKind kind, int ranks, Bytes size, BytesPerSecond copy_rate) {
  assert(ranks >= 1 && copy_rate.count() > 0);
  const double part = 1.0 / ranks;
  double copied = 0;  // of the size, on the rank that copies most
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_to_all:
    case CollectiveKind::reduce:     // the root: both
    case CollectiveKind::broadcast:  // the root in, then the others out
    case CollectiveKind::send_recv:
      copied = 2;
      break;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:   // the root: all of it out
    case CollectiveKind::scatter:  // the root: all of it in
      copied = 1 + part;
      break;
  }
  return copied * (size / copy_rate);
}

BytesPerSecond slowest_host_copy(const Cluster& cluster) {
  BytesPerSecond slowest = cluster.host_copy_bandwidth({0, 0});
  for (int node = 1; node < cluster.node_count(); ++node) {
    slowest = std::min(slowest, cluster.host_copy_bandwidth({node, 0}));
  }
  return slowest;
}

}  // namespace gradwire
