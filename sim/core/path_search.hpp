#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/core/node_graph.hpp"

namespace gradwire {

/// Best paths from one vertex of a graph whose edges carry a Link: least latency first, then the
/// widest bottleneck, then the vertex that was settled first (lowest ids).
template <class Graph>
class PathSearch {
 public:
  using Vertex = typename Graph::Vertex;
  using Edge = typename Graph::Edge;

  /// @param uses   (Edge) -> may a path use it?
  /// @param width  (Vertex) -> bytes per second that may pass through it; 0 = only an end point.
  /// @param to     the only vertex that is asked for; none: all are.
  template <class Uses, class Width>
  PathSearch(const Graph& graph, Vertex from, Uses uses, Width width,
             std::optional<Vertex> to = std::nullopt)
      : graph_(graph),
        from_(from),
        best_(graph.vertices().size(), unreached),
        last_edge_(graph.vertices().size()) {
    // Label setting: (latency, -bottleneck) never improves along a path, so the least open label
    // is final. Latencies are compared in whole picoseconds: sums in another order must tie.
    using Entry = std::pair<Label, Vertex>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    best_[from] = {0, -std::numeric_limits<double>::infinity()};
    open.emplace(best_[from], from);
    while (!open.empty()) {
      const auto [label, at] = open.top();
      open.pop();
      if (at == to) break;
      if (best_[at] < label) continue;  // a better one was settled
      const double through = at == from ? std::numeric_limits<double>::infinity() : width(at);
      if (through <= 0) continue;
      for (const Edge& edge : graph.out_edges(at)) {
        if (!uses(edge)) continue;
        const Link& link = graph[edge];
        const Label reached{label.first + std::llround(link.latency.count() * 1e12),
                            std::max({label.second, -through, -link.bandwidth.count()})};
        const Vertex next = edge.target;
        if (!(reached < best_[next])) continue;
        best_[next] = reached;
        last_edge_[next] = edge;
        open.emplace(reached, next);
      }
    }
  }

  [[nodiscard]] bool reaches(Vertex to) const { return best_[to] < unreached; }

  /// The edges of the path in order. REQUIRES: reaches(to).
  [[nodiscard]] std::vector<Edge> path(Vertex to) const {
    std::vector<Edge> edges;
    for (Vertex at = to; at != from_; at = last_edge_[at].source) {
      edges.push_back(last_edge_[at]);
    }
    std::reverse(edges.begin(), edges.end());
    return edges;
  }

 private:
  using Label = std::pair<std::int64_t, double>;  ///< picoseconds, minus bottleneck
  static constexpr Label unreached{std::numeric_limits<std::int64_t>::max(), 0.0};

  const Graph& graph_;
  Vertex from_;
  std::vector<Label> best_;
  std::vector<Edge> last_edge_;
};

}  // namespace gradwire
