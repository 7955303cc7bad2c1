#include "strategies/horovod/horovod_machines.hpp"

#include <algorithm>

#include "strategies/parts/job_places.hpp"

namespace gradwire {

HorovodMachines::HorovodMachines(const JobView& job) {
  for (int rank = 0; rank < static_cast<int>(job.machine_of.size()); ++rank) {
    ranks[job.machine_of[static_cast<std::size_t>(rank)]].push_back(rank);
  }
  for (const auto& [machine, local] : ranks) {
    local_ranks = std::max(local_ranks, static_cast<int>(local.size()));
    homogeneous = homogeneous && local.size() == ranks.begin()->second.size();
  }
}

std::vector<int> HorovodMachines::leaders() const {
  std::vector<int> leaders;
  leaders.reserve(ranks.size());
  for (const auto& [machine, local] : ranks) leaders.push_back(local.front());
  return leaders;
}

std::vector<Message> HorovodMachines::ring(double share) const {
  const auto first = leaders();
  std::vector<Message> ring;
  ring.reserve(first.size());
  for (std::size_t m = 0; m < first.size(); ++m) {
    ring.push_back({host_of(first[m]), host_of(first[(m + 1) % first.size()]), share});
  }
  return ring;
}

}  // namespace gradwire
