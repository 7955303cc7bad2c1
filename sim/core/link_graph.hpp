#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/core/cluster_link.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// One direction of a physical connection.
struct Link {
  LinkKind kind = LinkKind::pcie;
  BytesPerSecond bandwidth;  ///< payload, one direction
  Seconds latency;
  int lanes = 1;  ///< bonded NVLinks; PCIe and network count as 1
};

/// What links join. Vertices are numbered from 0 in the order of add(), directed edges in that of
/// join().
template <class Place>
class LinkGraph {
 public:
  using Vertex = std::size_t;
  struct Edge {
    int number = 0;
    Vertex source = 0;
    Vertex target = 0;
  };

  Vertex add(Place place) {
    vertices_.push_back(places_.size());
    places_.push_back(std::move(place));
    out_.emplace_back();
    return vertices_.back();
  }
  /// One direction. REQUIRES: both are vertices.
  void join(Vertex source, Vertex target, const Link& link) {
    edges_.push_back(
        {.number = static_cast<int>(links_.size()), .source = source, .target = target});
    out_[source].push_back(edges_.back());
    links_.push_back(link);
  }

  [[nodiscard]] const std::vector<Vertex>& vertices() const { return vertices_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  /// The edges that leave a vertex, in the order of join().
  [[nodiscard]] const std::vector<Edge>& out_edges(Vertex at) const { return out_[at]; }
  [[nodiscard]] Place& operator[](Vertex at) { return places_[at]; }
  [[nodiscard]] const Place& operator[](Vertex at) const { return places_[at]; }
  [[nodiscard]] const Link& operator[](const Edge& edge) const {
    return links_[static_cast<std::size_t>(edge.number)];
  }

 private:
  std::vector<Place> places_;
  std::vector<Link> links_;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  std::vector<std::vector<Edge>> out_;
};

}  // namespace gradwire
