#include "sim/core/local_routes.hpp"

namespace gradwire {
namespace {

void append_from(const std::vector<int>& path, LinkId offset, std::vector<LinkId>& out) {
  for (const int link : path) out.push_back(offset + link);
}

}  // namespace

Cluster::Routes::Routes(const NodeGraph& node)
    : gpus_(static_cast<int>(node.gpus().size())), nics_(static_cast<int>(node.nics().size())) {
  for (const auto& resource : node.resources()) {
    own_.push_back({.capacity = resource.bandwidth.count(),
                    .latency = resource.latency.count(),
                    .kind = resource.kind});
  }
  const auto append = [&](const auto& sources, const auto& destinations, const auto& route) {
    for (const DeviceId from : sources) {
      for (const DeviceId to : destinations) {
        const std::vector<int> path = route(from, to);
        links_.insert(links_.end(), path.begin(), path.end());
        begin_.push_back(links_.size());
      }
    }
  };
  const auto append_all = [&](const auto& route) {
    append(node.gpus(), node.gpus(), route);
    append(node.gpus(), node.nics(), route);
    append(node.nics(), node.gpus(), route);
  };
  append_all([&](DeviceId from, DeviceId to) { return node.route(from, to); });
  append_all([&](DeviceId from, DeviceId to) { return node.route_through_host(from, to); });
  for (const DeviceId gpu : node.gpus()) copy_rate_.push_back(node.host_copy_bandwidth(gpu));
  for (const auto* devices : {&node.gpus(), &node.nics()}) {
    for (const DeviceId device : *devices) {
      to_host_.push_back(node.route_to_host(device));
      from_host_.push_back(node.route_from_host(device));
    }
  }
  if (nics_ == 0) return;
  for (const DeviceId gpu : node.gpus()) {
    nearest_nic_.push_back(node.nics_by_distance(gpu).front());
    for (const DeviceId other : node.gpus()) {
      nvlink_.push_back(gpu != other && node.nvlink_lanes(gpu, other) > 0);
    }
  }
  for (int nic = 0; nic < nics_; ++nic) nearest_gpu_.push_back(gpu_next_to(nic));
}

int Cluster::Routes::gpu_next_to(int nic) const {
  const auto latency = [&](int gpu) {
    double sum = 0;
    const auto path = at(gpu_to_nic(gpu, nic));
    for (std::size_t i = begin_[path]; i < begin_[path + 1]; ++i) {
      sum += own_[at(links_[i])].latency;
    }
    return sum;
  };
  int nearest = 0;
  for (int gpu = 1; gpu < gpus_; ++gpu) {
    if (latency(gpu) < latency(nearest)) nearest = gpu;
  }
  return nearest;
}

void Cluster::Routes::append(int path, LinkId offset, std::vector<LinkId>& out) const {
  for (std::size_t i = begin_[at(path)]; i < begin_[at(path) + 1]; ++i) {
    out.push_back(offset + links_[i]);
  }
}

void Cluster::Routes::append_gpu_to_gpu(int from, int to, bool staged, LinkId offset,
                                        std::vector<LinkId>& path) const {
  append(gpu_to_gpu(from, to) + through_host(staged), offset, path);
}

void Cluster::Routes::append_gpu_to_nic(int gpu, int nic, bool staged, LinkId offset,
                                        std::vector<LinkId>& path) const {
  append(gpu_to_nic(gpu, nic) + through_host(staged), offset, path);
}

void Cluster::Routes::append_nic_to_gpu(int nic, int gpu, bool staged, LinkId offset,
                                        std::vector<LinkId>& path) const {
  append(nic_to_gpu(nic, gpu) + through_host(staged), offset, path);
}

void Cluster::Routes::append_gpu_to_host(int gpu, LinkId offset, std::vector<LinkId>& path) const {
  append_from(to_host_[at(gpu)], offset, path);
}

void Cluster::Routes::append_host_to_gpu(int gpu, LinkId offset, std::vector<LinkId>& path) const {
  append_from(from_host_[at(gpu)], offset, path);
}

void Cluster::Routes::append_nic_to_host(int nic, LinkId offset, std::vector<LinkId>& path) const {
  append_from(to_host_[at(gpus_ + nic)], offset, path);
}

void Cluster::Routes::append_host_to_nic(int nic, LinkId offset, std::vector<LinkId>& path) const {
  append_from(from_host_[at(gpus_ + nic)], offset, path);
}

}  // namespace gradwire
