#include "sim/collectives/rank_flows.hpp"

#include <cstdint>

namespace gradwire {

void RankFlows::local(int from, int to, int group) {
  const std::size_t begin = pattern_.path_links.size();
  cluster_.append_local(at(from).node, at(from).gpu, at(to).gpu, pattern_.path_links);
  add(from, to, group, begin);
}

void RankFlows::remote(const RankAtNic& from, const RankAtNic& to, int group) {
  const std::size_t begin = pattern_.path_links.size();
  cluster_.append_remote(at(from.rank), from.nic, at(to.rank), to.nic, pattern_.path_links);
  add(from.rank, to.rank, group, begin);
}

void RankFlows::along(const RankRing& ring, std::size_t index, int group) {
  const std::size_t next = index + 1 == ring.order.size() ? 0 : index + 1;
  const int source = ring.order[index];
  const int destination = ring.order[next];
  const GpuRef from = at(source);
  const GpuRef to = at(destination);
  if (from.node == to.node) return local(source, destination, group);
  const std::size_t begin = pattern_.path_links.size();
  const GpuRef exit{from.node, ring.exit[index]};
  if (exit != from) cluster_.append_local(from.node, from.gpu, exit.gpu, pattern_.path_links);
  cluster_.append_remote(exit, ring.nic[index], to, ring.nic[next], pattern_.path_links);
  add(source, destination, group, begin);
}

void RankFlows::add(int from, int to, int group, std::size_t begin) {
  pattern_.phases.back().flows.push_back(
      {.source = from,
       .destination = to,
       .share = share_,
       .group = group,
       .path_begin = static_cast<std::uint32_t>(begin),
       .path_size = static_cast<std::uint32_t>(pattern_.path_links.size() - begin)});
}

}  // namespace gradwire
