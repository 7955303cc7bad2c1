#include "sim/train/exchange_routes.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "sim/collectives/host_routes.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

class Router {
 public:
  Router(const Cluster& cluster, const Placement& placement, std::span<const int> servers)
      : cluster_(cluster), placement_(placement), servers_(servers) {}

  /// Does it take any link?
  [[nodiscard]] bool takes_links(const Message& message) const {
    const bool from_gpu = message.from.place == Endpoint::Place::gpu;
    const bool to_gpu = message.to.place == Endpoint::Place::gpu;
    if (from_gpu && to_gpu) return gpu(message.from) != gpu(message.to);
    return from_gpu || to_gpu || machine_of(message.from) != machine_of(message.to);
  }

  [[nodiscard]] int machine_of(const Endpoint& place) const {
    const auto index = static_cast<std::size_t>(place.index);
    return place.place == Endpoint::Place::server ? servers_[index] : placement_[index].node;
  }

  void append(const Message& message, std::vector<LinkId>& path) const {
    const bool from_gpu = message.from.place == Endpoint::Place::gpu;
    const bool to_gpu = message.to.place == Endpoint::Place::gpu;
    const int from = machine_of(message.from);
    const int to = machine_of(message.to);
    if (from_gpu && to_gpu && from == to) {
      if (gpu(message.from) == gpu(message.to)) return;
      return cluster_.append_route(gpu(message.from), gpu(message.to), path);
    }
    if (from_gpu) append_to_memory(gpu(message.from), memory_of(message.to, message.from), path);
    cluster_.append_between_hosts(from, to, host_nic, path);
    if (to_gpu) append_from_memory(memory_of(message.from, message.to), gpu(message.to), path);
  }

 private:
  [[nodiscard]] GpuRef gpu(const Endpoint& place) const {
    return placement_[static_cast<std::size_t>(place.index)];
  }
  /// The GPU whose host memory a copy from or to `copied` uses: that of the rank at the other end
  /// on the same machine, else its own.
  [[nodiscard]] GpuRef memory_of(const Endpoint& end, const Endpoint& copied) const {
    const bool named = end.place == Endpoint::Place::host && machine_of(end) == machine_of(copied);
    return gpu(named ? end : copied);
  }

  /// To the memory next to `beside`: the way to that GPU through host memory, but for the end.
  void append_to_memory(GpuRef from, GpuRef beside, std::vector<LinkId>& path) const {
    if (from == beside) return cluster_.append_to_host(from, path);
    std::vector<LinkId> whole;
    std::vector<LinkId> end;
    cluster_.append_through_host(from, beside, host_nic, whole);
    cluster_.append_from_host(beside, end);
    const auto known =
        whole.size() >= end.size() && std::equal(end.rbegin(), end.rend(), whole.rbegin());
    if (!known) return cluster_.append_to_host(from, path);
    path.insert(path.end(), whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(end.size()));
  }

  /// The same back: what is before the memory is left out.
  void append_from_memory(GpuRef beside, GpuRef to, std::vector<LinkId>& path) const {
    if (to == beside) return cluster_.append_from_host(to, path);
    std::vector<LinkId> whole;
    std::vector<LinkId> begin;
    cluster_.append_through_host(beside, to, host_nic, whole);
    cluster_.append_to_host(beside, begin);
    const auto known =
        whole.size() >= begin.size() && std::equal(begin.begin(), begin.end(), whole.begin());
    if (!known) return cluster_.append_from_host(to, path);
    path.insert(path.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin.size()), whole.end());
  }

  const Cluster& cluster_;
  const Placement& placement_;
  std::span<const int> servers_;
};

}  // namespace

Pattern lay_exchange(const Exchange& exchange, const Cluster& cluster, const Placement& placement,
                     std::span<const int> servers) {
  const Router router(cluster, placement, servers);
  Pattern pattern;
  pattern.kind = CollectiveKind::send_recv;
  pattern.channels = 1;
  pattern.connections = exchange.connections;
  std::vector<bool> is_place;
  std::vector<bool> is_machine;
  const auto meet = [](std::vector<bool>& met, int number) {
    const auto index = static_cast<std::size_t>(number);
    if (met.size() <= index) met.resize(index + 1);
    const bool is_new = !met[index];
    met[index] = true;
    return is_new;
  };
  // A place has the same number in all exchanges: connections from one to another are shared.
  const int places_of_a_kind = static_cast<int>(std::max(placement.size(), servers.size()));
  const auto number_of = [&](const Endpoint& place) {
    const int number = static_cast<int>(place.place) * places_of_a_kind + place.index;
    if (meet(is_place, number)) ++pattern.ranks;
    if (meet(is_machine, router.machine_of(place))) ++pattern.machines;
    return number;
  };
  for (const auto& messages : exchange.phases) {
    Phase phase;
    phase.flows.reserve(messages.size());
    for (const Message& message : messages) {
      assert(message.share > 0);
      PatternFlow flow;
      flow.source = number_of(message.from);
      flow.destination = number_of(message.to);
      flow.share = message.share;
      const std::size_t begin = pattern.path_links.size();
      router.append(message, pattern.path_links);
      flow.path_begin = static_cast<std::uint32_t>(begin);
      flow.path_size = static_cast<std::uint32_t>(pattern.path_links.size() - begin);
      if (flow.path_size > 0) phase.flows.push_back(flow);
    }
    if (!phase.flows.empty()) pattern.phases.push_back(std::move(phase));
  }
  pattern.path_links.shrink_to_fit();  // those of all exchanges are millions
  pattern.seal();
  return pattern;
}

bool takes_links(const Exchange& exchange, const Cluster& cluster, const Placement& placement,
                 std::span<const int> servers) {
  const Router router(cluster, placement, servers);
  return std::ranges::any_of(exchange.phases, [&](const auto& messages) {
    return std::ranges::any_of(messages,
                               [&](const Message& message) { return router.takes_links(message); });
  });
}

void visit_links(const Exchange& exchange, const Cluster& cluster, const Placement& placement,
                 std::span<const int> servers, std::vector<LinkId>& path,
                 const std::function<void(LinkId link, double share)>& visit) {
  const Router router(cluster, placement, servers);
  for (const auto& messages : exchange.phases) {
    for (const Message& message : messages) {
      path.clear();
      router.append(message, path);
      for (const LinkId link : path) visit(link, message.share);
    }
  }
}

}  // namespace gradwire
