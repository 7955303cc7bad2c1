#include "sim/core/switch_classes.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "sim/core/index.hpp"

namespace gradwire {
namespace {

/// Renumbers in order of first appearance. @return how many there are.
template <class Key>
int number_keys(const std::vector<Key>& keys, std::vector<int>& out) {
  std::map<Key, int> known;
  out.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = known.try_emplace(keys[i], static_cast<int>(known.size())).first->second;
  }
  return static_cast<int>(known.size());
}

/// "spine0", or "spine0-15" for all that fell together.
std::string merged_name(const std::string& first, const std::string& last) {
  if (first == last) return first;
  std::size_t same = 0;
  while (same < std::min(first.size(), last.size()) && first[same] == last[same]) ++same;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (same > 0 && is_digit(last[same - 1])) --same;
  return first + "-" + last.substr(same);
}

}  // namespace

std::vector<int> switch_classes(const Fabric& fabric, std::vector<int> colour) {
  const auto& graph = fabric.graph();
  assert(colour.size() == graph.vertices().size());
  using Trunk = std::tuple<int, double, double>;  // the far end's class, bandwidth, latency
  std::vector<std::pair<int, std::vector<Trunk>>> signature(colour.size());
  int classes = number_keys(std::vector<int>(colour), colour);
  while (true) {
    for (std::size_t id = 0; id < colour.size(); ++id) {
      auto& [own, trunks] = signature[id];
      own = colour[id];
      trunks.clear();
      for (const auto& edge : graph.out_edges(id)) {
        trunks.emplace_back(colour[edge.target], graph[edge].bandwidth.count(),
                            graph[edge].latency.count());
      }
      std::sort(trunks.begin(), trunks.end());
    }
    const int finer = number_keys(signature, colour);
    if (finer == classes) return colour;
    classes = finer;
  }
}

Fabric merge_equal_ways(const Fabric& fabric) {
  assert(!fabric.rule);
  const auto& graph = fabric.graph();
  const std::size_t switches = graph.vertices().size();
  std::vector<int> colour(switches, 0);
  for (int port = 0; port < fabric.port_count(); ++port) {
    const auto owner = fabric.switch_of(port);
    colour[owner] = static_cast<int>(owner) + 1;
  }
  const std::vector<int> classes = switch_classes(fabric, std::move(colour));

  Fabric merged;
  merged.kind = fabric.kind;
  merged.routing = Routing::spread;
  merged.ecmp_seed = fabric.ecmp_seed;
  std::vector<std::pair<std::size_t, std::size_t>> ends;  // of each class: first and last switch
  std::vector<int> counts;
  for (std::size_t id = 0; id < switches; ++id) {
    if (at(classes[id]) == ends.size()) {
      ends.emplace_back(id, id);
      counts.push_back(0);
    }
    ends[at(classes[id])].second = id;
    counts[at(classes[id])] += graph[id].count;
  }
  for (std::size_t c = 0; c < ends.size(); ++c) {
    const auto [first, last] = ends[c];
    merged.add_switch(merged_name(graph[first].name, graph[last].name), counts[c]);
  }
  // Trunks inside a class stay out: a best way leaves a class at once. Both directions of a trunk
  // stand side by side, so every second one tells them all.
  std::map<std::tuple<int, int, double>, std::size_t> known;  // classes, latency
  std::vector<std::tuple<int, int, Link>> trunks;
  for (const auto& edge : graph.edges()) {
    int a = classes[edge.source];
    int b = classes[edge.target];
    if (a == b || edge.number % 2 != 0) continue;
    if (a > b) std::swap(a, b);
    const Link& link = graph[edge];
    const auto [found, is_new] = known.try_emplace({a, b, link.latency.count()}, trunks.size());
    if (is_new) {
      trunks.emplace_back(a, b, link);
    } else {
      Link& bundle = std::get<Link>(trunks[found->second]);
      bundle.bandwidth += link.bandwidth;
      bundle.lanes += link.lanes;
    }
  }
  for (const auto& [a, b, link] : trunks) merged.connect(at(a), at(b), link);
  for (int port = 0; port < fabric.port_count(); ++port) {
    merged.port = fabric.port_spec(port);
    merged.attach(at(classes[fabric.switch_of(port)]));
  }
  return merged;
}

}  // namespace gradwire
