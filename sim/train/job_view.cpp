#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/host_routes.hpp"
#include "sim/collectives/machines.hpp"
#include "sim/core/cluster.hpp"
#include "sim/cost/collective_shape.hpp"
#include "sim/engine/uncontended.hpp"
#include "sim/train/job.hpp"
#include "sim/train/training.hpp"

namespace gradwire {
namespace {

/// One way of a small message between two processes of a machine, over the loopback device or a
/// Unix-domain socket. Assumed: a round trip of 10 us.
constexpr Seconds local_message_latency{5e-6};

/// From the host memory of the job's first machine to that of another one.
Seconds message_latency(const Job& job, const std::vector<int>& machines) {
  const auto other = std::ranges::find_if(
      machines, [&](int machine) { return machine != job.placement.front().node; });
  if (other == machines.end()) return local_message_latency;
  std::vector<LinkId> path;
  job.cluster.append_between_hosts(job.placement.front().node, *other, host_nic, path);
  Seconds sum;
  for (const LinkId link : path) {
    sum += Seconds{job.cluster.links()[static_cast<std::size_t>(link)].latency};
  }
  return sum;
}

/// What all-reduces of all ranks take uncontended. Planned at the first question; the network is
/// asked only where the library says no time itself.
class AllReduceTimes {
 public:
  explicit AllReduceTimes(const Job& job) : job_(job) {}

  Seconds operator()(Bytes size) {
    if (job_.placement.size() < 2) return {};
    if (patterns_.empty()) {
      patterns_ = job_.library.plan_folded(CollectiveKind::all_reduce, job_.placement);
      for (const Pattern& pattern : patterns_) {
        per_byte_.push_back(busiest_link_time(pattern, job_.cluster));
      }
    }
    const auto [pattern, cost] = job_.library.choose(patterns_, size);
    // Not even a measurement makes a link faster.
    const Seconds bound = static_cast<double>(size.count()) * per_byte_[pattern];
    if (cost.uncontended) return std::max(*cost.uncontended, bound);
    const std::array sizes = {size};
    return uncontended_times(job_.cluster, job_.library, CollectiveKind::all_reduce, job_.placement,
                             sizes, job_.engine)
        .front()
        .time;
  }

 private:
  const Job& job_;
  std::vector<Pattern> patterns_;
  std::vector<Seconds> per_byte_;  ///< of each pattern's busiest link
};

}  // namespace

int class_count(const Job& job) {
  return job.classes == nullptr ? 1 : 1 + static_cast<int>(job.classes->others.size());
}

const ComputeProfile& profile_of(const Job& job, int worker_class) {
  return worker_class == 0
             ? job.profile
             : job.classes->others[static_cast<std::size_t>(worker_class - 1)].profile;
}

const GpuSpec& gpu_of(const Job& job, int worker_class) {
  return worker_class == 0 ? job.gpu
                           : job.classes->others[static_cast<std::size_t>(worker_class - 1)].gpu;
}

bool are_peers(const Job& job, int machine) {
  const NodeGraph& node = job.cluster.node(machine);
  std::vector<DeviceId> gpus;
  for (const GpuRef& place : job.placement) {
    if (place.node == machine) gpus.push_back(node.gpus()[static_cast<std::size_t>(place.gpu)]);
  }
  return node.are_peers(gpus);
}

JobView job_view(const Job& job) {
  JobView view;
  view.world_size = static_cast<int>(job.placement.size());
  view.micro_batches = job.micro_batches;
  view.dtype = job.profile.dtype;
  view.tensors = tensors_of(job.profile);
  view.gradient_order = job.profile.gradient_order;
  view.buffer_elements = job.profile.buffer_elements;
  view.buffer_tensors = job.profile.buffers;
  view.buffer_bytes = job.profile.buffer_bytes;
  for (const auto& layer : job.profile.layers) {
    view.layers.push_back(
        {layer.forward, layer.backward, job.profile.launches_of(layer).backward, layer.made_again});
  }
  view.optimizer = job.profile.optimizer;
  view.host_step = job.profile.host_step;
  view.clips_gradients = job.profile.clips_gradients;
  const std::string& framework = job.profile.framework;
  if (framework.empty() || framework.starts_with("pytorch")) {
    view.python_time = job.profile.host_time;
  }
  for (const GpuRef& place : job.placement) view.machine_of.push_back(place.node);
  std::vector<int> machines = nodes_of(job.placement);
  view.machines = static_cast<int>(machines.size());
  view.server_machine = job.servers;
  machines.insert(machines.end(), job.servers.begin(), job.servers.end());
  view.message_latency = message_latency(job, machines);
  if (job.cluster.fabric().port_count() > 0) {
    view.network_bandwidth =
        job.cluster.fabric()
            .port_spec(job.cluster.port_of(job.placement.front().node, host_nic))
            .bandwidth;
  }
  view.host_copy_bandwidth = job.cluster.host_copy_bandwidth(job.placement.front());
  if (const auto& memory = job.cluster.node(job.placement.front().node).host_memory) {
    view.host_memory_rate = memory->bandwidth;
  }
  view.peer_access = are_peers(job, job.placement.front().node);
  view.collectives_on_gpu = job.library.on_gpu();
  view.all_reduce_time = [times = std::make_shared<AllReduceTimes>(job)](Bytes size) {
    return (*times)(size);
  };
  view.iteration_time = [&job](std::unique_ptr<Strategy> strategy, int iterations) {
    return steady_iteration(job, std::move(strategy), iterations);
  };
  return view;
}

}  // namespace gradwire
