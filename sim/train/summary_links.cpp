#include <algorithm>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/train/summary.hpp"

namespace gradwire {
namespace {

constexpr std::size_t links_reported = 20;

}  // namespace

void Summary::add_links(RunResult& result, const Network& network, Seconds end) const {
  const double window = end.count() - before_.time;
  const Contended contended = network.contended();
  result.contended_bytes = contended.bytes * mean_iteration() / window;
  result.contended_s = contended.seconds * mean_iteration() / window;
  // How much of a transfer came before the window is known by its time alone, so that a full link
  // may come out a little more than full.
  const auto utilisation = [&](const LinkUse& use) {
    const double capacity = job_.cluster.links()[static_cast<std::size_t>(use.link)].capacity;
    return std::min(1.0, use.bytes / (capacity * window));
  };
  // The busiest so far, the last of them in front. Links come in their order: of equally busy ones
  // the first stays.
  std::vector<std::pair<double, LinkUse>> kept;
  const auto before = [](const auto& a, const auto& b) {
    return std::pair{-a.first, a.second.link} < std::pair{-b.first, b.second.link};
  };
  network.visit_usage([&](const LinkUse& use) {
    const double share = utilisation(use);
    if (kept.size() == links_reported) {
      if (share <= kept.front().first) return;
      std::ranges::pop_heap(kept, before);
      kept.pop_back();
    }
    kept.emplace_back(share, use);
    std::ranges::push_heap(kept, before);
  });
  std::ranges::sort_heap(kept, before);
  for (const auto& [share, use] : kept) {
    result.links.push_back({.name = job_.cluster.link_name(use.link),
                            .utilisation = share,
                            .bytes = use.bytes * mean_iteration() / window});
  }
}

}  // namespace gradwire
