#include "sim/report/placement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace gradwire {
namespace {

/// Longer lists show so many lines from the front and the last one.
constexpr std::size_t lines_max = 8;
constexpr std::size_t rings_max = 2;
constexpr std::size_t ring_ranks_max = 32;

std::string range(int first, int last) {
  return first == last ? fmt::to_string(first) : fmt::format("{}-{}", first, last);
}

/// Ranks from `begin` on whose GPUs follow each other: in one node, or of one index node by node.
std::size_t run_end(const Placement& placement, std::size_t begin) {
  const auto follows = [&](std::size_t end, int nodes, int gpus) {
    const GpuRef& before = placement[end - 1];
    return placement[end] == GpuRef{before.node + nodes, before.gpu + gpus};
  };
  std::size_t end = begin + 1;
  if (end == placement.size()) return end;
  const bool inside = follows(end, 0, 1);
  while (end < placement.size() && follows(end, inside ? 0 : 1, inside ? 1 : 0)) ++end;
  return end;
}

}  // namespace

std::string placement_text(const Placement& placement, const std::vector<std::vector<int>>& rings) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < placement.size();) {
    const std::size_t end = run_end(placement, begin);
    const GpuRef& first = placement[begin];
    const GpuRef& last = placement[end - 1];
    lines.push_back(fmt::format("  rank{} {}: node{}.gpu{}\n", end - begin == 1 ? "" : "s",
                                range(static_cast<int>(begin), static_cast<int>(end) - 1),
                                range(first.node, last.node), range(first.gpu, last.gpu)));
    begin = end;
  }
  std::string text = fmt::format("{} rank{}\n", placement.size(), placement.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool shown = lines.size() <= lines_max || i + 2 < lines_max || i + 1 == lines.size();
    if (shown) text += lines[i];
    if (lines.size() > lines_max && i + 2 == lines_max) {
      text += fmt::format("  ... {} more such lines\n", lines.size() - lines_max + 1);
    }
  }
  for (std::size_t channel = 0; channel < std::min(rings.size(), rings_max); ++channel) {
    const auto& ring = rings[channel];
    text += fmt::format("ring of channel {} (of {}):", channel, rings.size());
    for (std::size_t i = 0; i < std::min(ring.size(), ring_ranks_max); ++i) {
      text += fmt::format(" {}", ring[i]);
    }
    if (ring.size() > ring_ranks_max) {
      text += fmt::format(" ... {} more", ring.size() - ring_ranks_max);
    }
    text += "\n";
  }
  return text;
}

}  // namespace gradwire
