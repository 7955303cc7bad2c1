#include "strategies/server_exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/job_places.hpp"

namespace gradwire {
namespace {

Exchange single_phase(std::string name, int connections = 1) {
  Exchange exchange{.name = std::move(name), .phases = {{}}};
  exchange.connections = connections;
  return exchange;
}

}  // namespace

ServerLayout::ServerLayout(const JobView& job)
    : machine_of_(job.machine_of),
      roots_(first_ranks(job)),
      places_(server_places(job)),
      server_machine_(job.server_machine) {
  // A job that says nothing of its machines has one.
  machine_of_.resize(static_cast<std::size_t>(job.world_size), 0);
  for (int rank = 0; rank < job.world_size; ++rank) {
    const auto machine = static_cast<std::size_t>(machine_of_[static_cast<std::size_t>(rank)]);
    if (machine >= ranks_on_.size()) ranks_on_.resize(machine + 1);
    ranks_on_[machine].push_back(rank);
    local_size_ = std::max(local_size_, static_cast<int>(ranks_on_[machine].size()));
  }
  if (!server_machine_.empty()) return;
  for (const int root : roots_) {
    server_machine_.push_back(machine_of_[static_cast<std::size_t>(root)]);
  }
}

bool ServerLayout::colocated(int server) const {
  const auto machine = static_cast<std::size_t>(server_machine_[static_cast<std::size_t>(server)]);
  return machine < ranks_on_.size() && !ranks_on_[machine].empty();
}

Exchange ServerLayout::push(int server, int connections) const {
  auto exchange = single_phase(fmt::format("push to server {}", server), connections);
  for (const int root : roots_) {
    exchange.phases.front().push_back({host_of(root), place(server)});
  }
  return exchange;
}

Exchange ServerLayout::pull(int server, int connections) const {
  return reversed(push(server, connections), fmt::format("pull from server {}", server));
}

Exchange ServerLayout::push_by_rank(int server, int connections) const {
  auto exchange = single_phase(fmt::format("push to server {}", server), connections);
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    exchange.phases.front().push_back({gpu_of(rank), place(server)});
  }
  return exchange;
}

Exchange ServerLayout::pull_by_rank(int server, int connections) const {
  return reversed(push_by_rank(server, connections), fmt::format("pull from server {}", server));
}

ServerLayout::Share ServerLayout::share_of(int rank, int group) const {
  const auto machine = static_cast<std::size_t>(machine_of_[static_cast<std::size_t>(rank)]);
  const std::vector<int>& ranks = ranks_on_[machine];
  const auto size = static_cast<std::size_t>(group);
  const auto local = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
  return {host_of(ranks[local - local % size]),
          1.0 / static_cast<double>(std::min(size, ranks.size()))};
}

Exchange ServerLayout::copy_to_host(int group) const {
  auto exchange = single_phase("copy to host");
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    const Share share = share_of(rank, group);
    exchange.phases.front().push_back({gpu_of(rank), share.memory, share.part});
  }
  return exchange;
}

Exchange ServerLayout::copy_to_gpus(int group) const {
  return reversed(copy_to_host(group), "copy to GPUs");
}

Exchange ServerLayout::copy_from_root() const {
  auto exchange = single_phase("copy to host");
  for (const int root : roots_) exchange.phases.front().push_back({gpu_of(root), host_of(root)});
  return exchange;
}

Exchange ServerLayout::copy_to_root() const {
  return reversed(copy_from_root(), "copy to GPU");
}

}  // namespace gradwire
