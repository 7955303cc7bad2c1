#include "sim/train/own_compute.hpp"

#include <cstddef>

namespace gradwire {

const ComputeProfile& profile_of(const Job& job, const MemberGroup& member) {
  return job.rank_classes.empty()
             ? profile_of(job, member.worker_class)
             : job.rank_classes[static_cast<std::size_t>(member.rank_class)].profile;
}

int micro_batches_of(const Job& job) {
  if (job.rank_classes.empty()) return job.micro_batches;
  return micro_batches_of(job.rank_classes.front().program);
}

int ranks_of_replica(const Job& job) {
  if (job.rank_classes.empty()) return 1;
  const auto& replicas = job.rank_classes.front().data_parallel.front().ranks;
  return static_cast<int>(job.placement.size() / replicas.size());
}

double device_time(const Job& job, const MemberGroup& member) {
  const ComputeProfile& profile = profile_of(job, member);
  if (!job.rank_classes.empty()) {
    const auto& own = job.rank_classes[static_cast<std::size_t>(member.rank_class)];
    return device_time_of(own.program, profile).count();
  }
  return (profile.step() +
          static_cast<double>(job.micro_batches) * (profile.forward() + profile.backward()))
      .count();
}

double own_iteration(const Job& job, const std::vector<MemberGroup>& members) {
  if (job.rank_classes.empty() && class_count(job) == 1) {
    return job.profile.iteration_of(job.micro_batches).count();
  }
  const auto ranks = static_cast<double>(job.placement.size());
  double busy = 0;
  double rate = 0;  // iterations per second of all ranks, each alone
  for (const MemberGroup& member : members) {
    const ComputeProfile& profile = profile_of(job, member);
    busy += member.count * (device_time(job, member) + profile.between_iterations().count());
    rate += member.count / profile.iteration_of(job.micro_batches).count();
  }
  return job.rank_classes.empty() ? ranks / rate : busy / ranks;
}

}  // namespace gradwire
