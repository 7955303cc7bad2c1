#include "strategies/peers/kungfu_host.hpp"

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr int cores_most = 100'000;

/// Accesses of memory a byte: at each end of a socket it is copied, to the kernel's buffer or from
/// there; a sum reads two and writes one.
constexpr int socket_accesses = 2;
constexpr int sum_accesses = 3;

}  // namespace

KungfuHostOptions read_kungfu_host(Knobs& knobs) {
  KungfuHostOptions options;
  options.sum_rate = knobs.cpu().sum_rate;
  options.cores = static_cast<int>(
      knobs.count("cores", options.cores, 1, cores_most,
                  "of a machine, shared evenly by its processes: two Xeon E5-2698 v4, DGX-1 data "
                  "sheet; other machines have others"));
  knobs.read("memory_rate", options.memory_rate,
             "of a machine, shared by the processes at work: two sockets with four channels of "
             "DDR4-2133, DGX-1 data sheet; nominal");
  return options;
}

KungfuHost::KungfuHost(const KungfuHostOptions& options, const JobView& job) : options_(options) {
  if (!job.machine_of_all.empty()) {
    for (const int machine : job.machine_of_all) ++processes_[machine];
    return;
  }
  for (int rank = 0; rank < job.world_size; ++rank) ++processes_[machine_of(job, rank)];
}

double KungfuHost::cores(int machine) const {
  return static_cast<double>(options_.cores) / processes(machine);
}

KungfuHost::Work KungfuHost::sockets(int machine, int count, int active) const {
  const double each = 1 / options_.socket_rate.count();
  const double memory = count * socket_accesses * active / options_.memory_rate.count();
  return {.turn = std::max(each, memory), .cores = count * each / cores(machine)};
}

KungfuHost::Work KungfuHost::sums(int machine, int arrays, int active) const {
  const double each = 1 / options_.sum_rate.count();
  const double memory = sum_accesses * active / options_.memory_rate.count();
  return {.turn = arrays * std::max(each, memory), .cores = arrays * each / cores(machine)};
}

}  // namespace gradwire
