#include "strategies/parts/job_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/core/refusal.hpp"

namespace gradwire {

std::vector<int> all_ranks(const JobView& job) {
  std::vector<int> ranks(static_cast<std::size_t>(job.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> first_ranks(const JobView& job) {
  std::vector<int> first;
  std::set<int> seen;
  for (int rank = 0; rank < job.world_size; ++rank) {
    if (seen.insert(machine_of(job, rank)).second) first.push_back(rank);
  }
  return first;
}

int equal_ranks_of_machines(const JobView& job, const std::string& who) {
  std::map<int, int> ranks;
  for (const int rank : all_ranks(job)) ++ranks[machine_of(job, rank)];
  const auto [first, first_ranks] = *ranks.begin();
  for (const auto& [machine, count] : ranks) {
    if (count == first_ranks) continue;
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("{} within machines, which needs equally many ranks on each; machine {} has "
                    "{}, machine {} has {}",
                    who, first, first_ranks, machine, count));
  }
  return first_ranks;
}

GroupFamily neighbours(const JobView& job, int size, const std::string& name) {
  assert(size >= 1 && job.world_size % size == 0);
  GroupFamily family{.name = name, .groups = {}};
  for (int first = 0; first < job.world_size; first += size) {
    ProcessGroup& group = family.groups.emplace_back();
    group.name = fmt::format("{} {}", name, first / size);
    for (int rank = first; rank < first + size; ++rank) group.ranks.push_back(rank);
  }
  return family;
}

GroupFamily counterparts(const JobView& job, int size, const std::string& name) {
  assert(size >= 1 && job.world_size % size == 0);
  GroupFamily family{.name = name, .groups = {}};
  for (int place = 0; place < size; ++place) {
    ProcessGroup& group = family.groups.emplace_back();
    group.name = fmt::format("{} {}", name, place);
    for (int rank = place; rank < job.world_size; rank += size) group.ranks.push_back(rank);
  }
  return family;
}

Exchange reversed(Exchange exchange, std::string name) {
  exchange.name = std::move(name);
  std::ranges::reverse(exchange.phases);
  for (auto& phase : exchange.phases) {
    for (Message& message : phase) std::swap(message.from, message.to);
  }
  return exchange;
}

std::vector<Exchange> visited_exchanges(const Strategy& strategy) {
  std::vector<Exchange> exchanges;
  strategy.visit_exchanges([&](const Exchange& exchange) { exchanges.push_back(exchange); });
  return exchanges;
}

std::vector<Endpoint> server_places(const JobView& job) {
  std::vector<Endpoint> places;
  places.reserve(job.server_machine.size());
  for (std::size_t server = 0; server < job.server_machine.size(); ++server) {
    places.push_back({Endpoint::Place::server, static_cast<int>(server)});
  }
  if (!places.empty()) return places;
  for (const int rank : first_ranks(job)) places.push_back(host_of(rank));
  return places;
}

}  // namespace gradwire
