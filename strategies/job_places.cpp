#include "strategies/job_places.hpp"

#include <numeric>
#include <set>

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
