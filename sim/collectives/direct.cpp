#include "sim/collectives/planners.hpp"

#include <string>

#include "sim/collectives/schedule.hpp"

namespace gradwire {
namespace {

constexpr const char* direct_name = "direct";

Schedule from_root(const Placement& members) {
  const auto ranks = static_cast<int>(members.size());
  Round round;
  for (int rank = 1; rank < ranks; ++rank) {
    round.messages.push_back({.source = 0, .destination = rank, .share = 1.0 / ranks});
  }
  return {round};
}

Pattern plan_send_recv(const std::string& algorithm, const Cluster& cluster,
                       const Placement& members) {
  const auto ranks = static_cast<int>(members.size());
  Round round;
  for (int rank = 0; rank < ranks; ++rank) {
    round.messages.push_back({.source = rank, .destination = (rank + 1) % ranks, .share = 1});
  }
  return lay_out({round}, CollectiveKind::send_recv, algorithm, cluster, members);
}

}  // namespace

Pattern plan_direct_gather(const Cluster& cluster, const Placement& members) {
  return lay_out(mirrored(from_root(members)), CollectiveKind::gather, direct_name, cluster,
                 members);
}

Pattern plan_direct_scatter(const Cluster& cluster, const Placement& members) {
  return lay_out(from_root(members), CollectiveKind::scatter, direct_name, cluster, members);
}

Pattern plan_direct_send_recv(const Cluster& cluster, const Placement& members) {
  return plan_send_recv(direct_name, cluster, members);
}

Pattern plan_ring_send_recv(const Cluster& cluster, const Placement& members) {
  return plan_send_recv("ring", cluster, members);
}

}  // namespace gradwire
