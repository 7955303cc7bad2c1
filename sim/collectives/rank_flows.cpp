#include "sim/collectives/rank_flows.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gradwire {

void RankFlows::local(int from, int to, int group) {
  add_local(from, to, group);
  stand();
}

void RankFlows::chain(std::span<const int> ranks, int group) {
  if (pattern_.is_folded()) {
    if (ranks.size() > 1) pattern_.phases.back().runs.push_back(laid(ranks, group));
    return;
  }
  for (std::size_t i = 1; i < ranks.size(); ++i) add_local(ranks[i - 1], ranks[i], group);
}

FlowRun RankFlows::laid(std::span<const int> ranks, int group) {
  if (laid_group_ != group) laid_.clear();
  laid_group_ = group;
  const int machine = ranks.front() / pattern_.fold.ranks;
  const int shift = machine * pattern_.fold.ranks;
  const auto is_same = [&](const Laid& other) {
    return std::ranges::equal(ranks, other.ranks, [&](int a, int b) { return a == b + shift; });
  };
  auto found = std::ranges::find_if(laid_, is_same);
  if (found == laid_.end()) {
    const auto begin = static_cast<std::uint32_t>(pattern_.phases.back().flows.size());
    std::vector<int> first(ranks.begin(), ranks.end());
    for (int& rank : first) rank -= shift;
    for (std::size_t i = 1; i < first.size(); ++i) add_local(first[i - 1], first[i], group);
    const auto size = static_cast<std::uint32_t>(first.size() - 1);
    laid_.push_back({.ranks = std::move(first), .run = {.begin = begin, .size = size}});
    found = laid_.end() - 1;
  }
  FlowRun run = found->run;
  run.machine = machine;
  return run;
}

void RankFlows::add_local(int from, int to, int group) {
  const std::size_t begin = pattern_.path_links.size();
  cluster_.append_local(at(from).node, at(from).gpu, at(to).gpu, pattern_.path_links);
  add(from, to, group, begin);
}

void RankFlows::remote(const RankAtNic& from, const RankAtNic& to, int group) {
  const std::size_t begin = pattern_.path_links.size();
  cluster_.append_remote(at(from.rank), from.nic, at(to.rank), to.nic, pattern_.path_links);
  add(from.rank, to.rank, group, begin);
  stand();
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
  stand();
}

void RankFlows::stand() {
  if (!pattern_.is_folded()) return;
  Phase& phase = pattern_.phases.back();
  const auto last = static_cast<std::uint32_t>(phase.flows.size() - 1);
  if (!phase.runs.empty()) {
    FlowRun& before = phase.runs.back();
    if (before.machine == 0 && before.begin + before.size == last) {
      ++before.size;
      return;
    }
  }
  phase.runs.push_back({.begin = last, .size = 1, .machine = 0});
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
