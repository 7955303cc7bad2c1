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
  for (const int number : machine_of_) {
    const auto machine = static_cast<std::size_t>(number);
    if (machine >= ranks_on_.size()) ranks_on_.resize(machine + 1, 0);
    local_size_ = std::max(local_size_, ++ranks_on_[machine]);
  }
  if (!server_machine_.empty()) return;
  for (const int root : roots_) {
    server_machine_.push_back(machine_of_[static_cast<std::size_t>(root)]);
  }
}

bool ServerLayout::colocated(int server) const {
  const auto machine = static_cast<std::size_t>(server_machine_[static_cast<std::size_t>(server)]);
  return machine < ranks_on_.size() && ranks_on_[machine] > 0;
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

double ServerLayout::copied_share(int rank, int group) const {
  const auto machine = static_cast<std::size_t>(machine_of_[static_cast<std::size_t>(rank)]);
  return 1.0 / std::min(group, ranks_on_[machine]);
}

Exchange ServerLayout::copy_to_host(int group) const {
  auto exchange = single_phase("copy to host");
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    exchange.phases.front().push_back({gpu_of(rank), host_of(rank), copied_share(rank, group)});
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
