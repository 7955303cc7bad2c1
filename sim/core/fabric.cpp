#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <utility>

#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/path_search.hpp"

namespace gradwire {

Fabric::SwitchId Fabric::add_switch(std::string name) {
  cache_.clear();
  return boost::add_vertex(Switch{std::move(name)}, graph_);
}

void Fabric::connect(SwitchId a, SwitchId b, const Link& link) {
  assert(a != b && link.bandwidth.count() > 0 && link.latency.count() >= 0);
  cache_.clear();
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto number = static_cast<int>(boost::num_edges(graph_));
    boost::add_edge(from, to, NumberedLink(number, link), graph_);
  }
}

int Fabric::attach(SwitchId at) {
  assert(at < boost::num_vertices(graph_));
  port_switch_.push_back(at);
  return port_count() - 1;
}

Fabric::SwitchId Fabric::switch_of(int port_index) const {
  return port_switch_[static_cast<std::size_t>(port_index)];
}

const std::vector<int>& Fabric::trunks(SwitchId from, SwitchId to) const {
  static const std::vector<int> none;
  if (from == to) return none;
  cache_.resize(boost::num_vertices(graph_));
  auto& from_here = cache_[from];
  if (from_here.empty()) {
    const PathSearch<SwitchGraph> search(
        graph_, from, [](const auto& /*trunk*/) { return true; },
        [](SwitchId /*at*/) { return std::numeric_limits<double>::infinity(); });
    from_here.resize(boost::num_vertices(graph_));
    for (const SwitchId id : boost::make_iterator_range(boost::vertices(graph_))) {
      if (!search.reaches(id)) continue;
      for (const auto& trunk : search.path(id)) {
        from_here[id].push_back(boost::get(boost::edge_index, graph_, trunk));
      }
    }
  }
  if (from_here[to].empty()) {
    throw SimulationError("fabric: no way from " + graph_[from].name + " to " + graph_[to].name);
  }
  return from_here[to];
}

}  // namespace gradwire
