#include "sim/core/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "sim/core/index.hpp"
#include "sim/core/local_routes.hpp"

namespace gradwire {
namespace {

std::string trunk_name(const Fabric::SwitchGraph& switches, const Fabric::SwitchGraph::Edge& edge) {
  return fmt::format("{}->{}", switches[edge.source].name, switches[edge.target].name);
}

/// Index k of "<prefix>k", with what follows cut off `text`; empty when it reads otherwise.
std::optional<int> take_index(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int index = 0;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), index);
  if (error != std::errc{} || index < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return index;
}

}  // namespace

std::string Cluster::link_name(LinkId id) const {
  assert(id >= 0 && at(id) < links_->size());
  if (id >= trunk_links_ && id < duplex_links_) {
    const auto& switches = fabric_.graph();
    return trunk_name(switches, switches.edges()[at(id - trunk_links_)]);
  }
  const bool is_port = id >= port_links_;
  const bool is_shared = id >= duplex_links_;
  const int port = is_shared ? half_duplex_ports_[at(id - duplex_links_)]
                   : is_port ? (id - port_links_) / 2
                             : 0;
  const auto after = is_port ? std::upper_bound(port_offset_.begin(), port_offset_.end(), port)
                             : std::upper_bound(node_offset_.begin(), node_offset_.end(), id);
  const auto& offsets = is_port ? port_offset_ : node_offset_;
  const auto owner = static_cast<int>(after - offsets.begin()) - 1;
  if (is_port) {
    const char* direction = (id - port_links_) % 2 == 0 ? "up" : "down";
    return fmt::format("node{}.nic{}.{}", owner, port - port_offset_[at(owner)],
                       is_shared ? "both" : direction);
  }
  return fmt::format("node{}.{}", owner,
                     node(owner).resources()[at(id - node_offset_[at(owner)])].name);
}

std::vector<LinkId> Cluster::find_links(const std::string& name) const {
  std::vector<LinkId> found;
  std::string_view rest = name;
  const std::optional<int> owner = take_index("node", rest);
  if (!owner || !rest.starts_with('.')) {
    const auto& switches = fabric_.graph();
    for (const auto& edge : switches.edges()) {
      if (trunk_name(switches, edge) != name) continue;
      found.push_back(trunk_links_ + edge.number);
    }
    return found;
  }
  if (*owner >= node_count()) return found;
  rest.remove_prefix(1);
  const auto& resources = node(*owner).resources();
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].name == rest) {
      found.push_back(node_offset_[at(*owner)] + static_cast<LinkId>(i));
    }
  }
  if (const std::optional<int> nic = take_index("nic", rest);
      nic && *nic < routes_[at(*owner)]->nics() && fabric_.port_count() > 0) {
    const LinkId up = port_links_ + 2 * (port_offset_[at(*owner)] + *nic);
    if (rest.empty() || rest == ".up") found.push_back(up);
    if (rest.empty() || rest == ".down") found.push_back(up + 1);
    std::vector<LinkId> all;
    append_port((up - port_links_) / 2, /*up=*/true, all);
    if ((rest.empty() || rest == ".both") && all.size() > 1) found.push_back(all.back());
  }
  return found;
}

}  // namespace gradwire
