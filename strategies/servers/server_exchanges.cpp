#include "strategies/servers/server_exchanges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/parts/job_places.hpp"

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

int ServerLayout::local_size_min() const {
  int least = local_size_;
  for (const int root : roots_) {
    least = std::min(least, static_cast<int>(ranks_beside(root).size()));
  }
  return least;
}

int ServerLayout::part_size(int part) const {
  int most = 1;
  for (const int root : roots_) {
    most = std::max(most, ranks_of_part(static_cast<int>(ranks_beside(root).size()), part));
  }
  return most;
}

int ServerLayout::other_parts(int part) const {
  int most = 0;
  for (const int root : roots_) {
    const auto ranks = static_cast<int>(ranks_beside(root).size());
    most = std::max(most, ranks / ranks_of_part(ranks, part) - 1);
  }
  return most;
}

bool ServerLayout::uneven(int part) const {
  return std::ranges::any_of(roots_, [&](int root) {
    const auto ranks = static_cast<int>(ranks_beside(root).size());
    return ranks > part && ranks % part != 0;
  });
}

Endpoint ServerLayout::last_memory(const std::vector<int>& ranks, int part) {
  const int size = ranks_of_part(static_cast<int>(ranks.size()), part);
  return host_of(ranks[ranks.size() - static_cast<std::size_t>(size)]);
}

void ServerLayout::visit_servers(const ExchangeVisit& visit, const std::vector<Endpoint>& workers,
                                 int connections) const {
  // A thousand servers have millions of messages: each server's are written over those before them.
  auto push = single_phase({}, connections);
  for (const Endpoint& worker : workers) push.phases.front().push_back({worker, worker});
  Exchange pull = push;
  for (std::size_t server = 0; server < places_.size(); ++server) {
    push.name = fmt::format("push to server {}", server);
    pull.name = fmt::format("pull from server {}", server);
    for (Message& message : push.phases.front()) message.to = places_[server];
    for (Message& message : pull.phases.front()) message.from = places_[server];
    visit(push);
    visit(pull);
  }
}

void ServerLayout::visit_machines(const ExchangeVisit& visit, int connections, int part) const {
  std::vector<Endpoint> workers;
  for (const int root : roots_) workers.push_back(last_memory(ranks_beside(root), part));
  visit_servers(visit, workers, connections);
}

void ServerLayout::visit_ranks(const ExchangeVisit& visit, int connections) const {
  std::vector<Endpoint> workers;
  workers.reserve(machine_of_.size());
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    workers.push_back(gpu_of(rank));
  }
  visit_servers(visit, workers, connections);
}

Exchange ServerLayout::copy_to_host(int part) const {
  auto exchange = single_phase("copy to host");
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    const std::vector<int>& ranks = ranks_beside(rank);
    const int size = ranks_of_part(static_cast<int>(ranks.size()), part);
    const auto local = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
    const Endpoint memory = host_of(ranks[static_cast<std::size_t>(local - local % size)]);
    exchange.phases.front().push_back({gpu_of(rank), memory, 1.0 / size});
  }
  return exchange;
}

Exchange ServerLayout::copy_back(int part) const {
  return reversed(copy_to_host(part), "copy to GPUs");
}

Exchange ServerLayout::copy_to_gpus(int part) const {
  auto exchange = single_phase("copy to GPUs");
  for (int rank = 0; rank < static_cast<int>(machine_of_.size()); ++rank) {
    const std::vector<int>& ranks = ranks_beside(rank);
    const int size = ranks_of_part(static_cast<int>(ranks.size()), part);
    exchange.phases.front().push_back({last_memory(ranks, part), gpu_of(rank), 1.0 / size});
  }
  return exchange;
}

Exchange ServerLayout::copy_from_root(int root) const {
  auto exchange = single_phase("copy to host");
  for (const int first : roots_) {
    const int copies = ranks_beside(first)[static_cast<std::size_t>(root)];
    exchange.phases.front().push_back({gpu_of(copies), host_of(first)});
  }
  return exchange;
}

Exchange ServerLayout::copy_to_root(int root) const {
  return reversed(copy_from_root(root), "copy to GPU");
}

}  // namespace gradwire
