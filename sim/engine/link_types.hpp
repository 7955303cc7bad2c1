#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/core/cluster_link.hpp"
#include "sim/engine/flow_graph.hpp"

namespace gradwire {

/// What flows see of a link.
struct LinkType {
  double capacity = 0;
  double latency = 0;
  Hop hop = Hop::nvlink;
  double connection_capacity = 0;
  int connections = 1;

  /// What a flow's connections carry. @param opened  by the library; 0: as the port says.
  [[nodiscard]] double ceiling(int opened) const {
    return (opened > 0 ? opened : connections) * connection_capacity;
  }
};

/// The different ones of some links: thousands of links are of few types.
class LinkTypes {
 public:
  /// The type's number, from 0 in the order in which they are met.
  std::uint32_t of(const ClusterLink& link);
  [[nodiscard]] const LinkType& operator[](std::uint32_t type) const { return types_[type]; }
  [[nodiscard]] std::size_t size() const { return types_.size(); }

 private:
  using Key = std::tuple<double, double, LinkKind, double, int>;

  std::vector<LinkType> types_;
  std::unordered_map<Key, std::uint32_t, boost::hash<Key>> index_;
};

/// In whole femtoseconds: sums of the same latencies in another order must not make another kind of
/// flow.
[[nodiscard]] std::int64_t femtoseconds(double seconds);

}  // namespace gradwire
