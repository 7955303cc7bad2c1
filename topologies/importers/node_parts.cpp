#include "topologies/importers/node_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire {
namespace {

[[noreturn]] void fail_name(const std::string& what, const std::string& name,
                            const std::vector<std::string>& known, const std::string& file) {
  throw ConfigError({file, 0, 0}, fmt::format("unknown {} '{}'; expected one of {}{}", what, name,
                                              joined_by(known, ", "), suggestion(name, known)));
}

BytesPerSecond lane_rate(const LinkTables& links, const NodeGraph& node, DeviceId gpu) {
  return links.find_wire(links.find_gpu(node.device(gpu).model)->nvlink)->bandwidth;
}

}  // namespace

void Told::add(const std::string& who, const std::string& what) {
  const auto found =
      std::find_if(told_.begin(), told_.end(), [&](const auto& one) { return one.first == what; });
  if (found == told_.end()) {
    told_.push_back({what, {who}});
  } else if (std::find(found->second.begin(), found->second.end(), who) == found->second.end()) {
    found->second.push_back(who);
  }
}

std::vector<std::string> Told::sentences() const {
  std::vector<std::string> result;
  for (const auto& [what, who] : told_) {
    result.push_back(fmt::format("{}: {}", joined_by(who, ", "), what));
  }
  return result;
}

bool NvlinkLanes::any() const {
  for (std::size_t gpu = 0; gpu < direct.size(); ++gpu) {
    if (of(gpu) > 0) return true;
  }
  return false;
}

bool NvlinkLanes::has_switch() const {
  return std::any_of(into_switch.begin(), into_switch.end(), [](int lanes) { return lanes > 0; });
}

int NvlinkLanes::of(std::size_t gpu) const {
  return std::accumulate(direct[gpu].begin(), direct[gpu].end(), into_switch[gpu]);
}

const GpuWires& require_gpu(const LinkTables& links, const std::string& model,
                            const std::string& file) {
  const GpuWires* wires = links.find_gpu(model);
  if (wires == nullptr) fail_name("GPU model", model, links.gpu_names(), file);
  return *wires;
}

const PortKind& require_port(const LinkTables& links, const std::string& kind,
                             const std::string& file) {
  const PortKind* port = links.find_port(kind);
  if (port == nullptr) fail_name("NIC kind", kind, links.port_names(), file);
  return *port;
}

const WireKind& require_socket_link(const LinkTables& links, const std::string& cpu,
                                    const std::string& file) {
  const WireKind* smp = links.find_wire(cpu);
  if (smp != nullptr && smp->kind == LinkKind::smp) return *smp;
  fail_name("CPU", cpu, links.socket_names(), file);
}

void connect_slot(NodeGraph& node, DeviceId lower, DeviceId upper, BytesPerSecond bandwidth,
                  Seconds latency) {
  node.connect(lower, upper, {.kind = LinkKind::pcie, .bandwidth = bandwidth, .latency = latency});
}

void join_sockets(NodeGraph& node, const std::vector<DeviceId>& numas,
                  const std::vector<BytesPerSecond>& bandwidths, Seconds latency) {
  for (std::size_t b = 1; b < numas.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const BytesPerSecond slower = std::min(bandwidths[a], bandwidths[b]);
      node.connect(numas[a], numas[b],
                   {.kind = LinkKind::smp, .bandwidth = slower, .latency = latency});
    }
  }
}

void add_nvlinks(const LinkTables& links, NodeGraph& node, const NvlinkLanes& lanes,
                 DeviceId nvswitch) {
  const auto connect = [&](DeviceId a, DeviceId b, int count, BytesPerSecond lane,
                           Seconds latency) {
    const BytesPerSecond all = static_cast<double>(count) * lane;
    node.connect(a, b, {LinkKind::nvlink, all, latency, count});
  };
  const std::vector<DeviceId> gpus = node.gpus();
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      if (lanes.direct[a][b] == 0) continue;
      const BytesPerSecond lane =
          std::min(lane_rate(links, node, gpus[a]), lane_rate(links, node, gpus[b]));
      connect(gpus[a], gpus[b], lanes.direct[a][b], lane, links.nvlink_latency);
    }
    if (lanes.into_switch[a] == 0) continue;
    const BytesPerSecond lane = lane_rate(links, node, gpus[a]);
    connect(gpus[a], nvswitch, lanes.into_switch[a], lane, 0.5 * links.nvlink_latency);
  }
}

void check_lanes(const LinkTables& links, const NodeGraph& node, const NvlinkLanes& lanes,
                 const std::string& file) {
  for (std::size_t gpu = 0; gpu < lanes.direct.size(); ++gpu) {
    const Device& device = node.device(node.gpus()[gpu]);
    const int own = links.find_gpu(device.model)->nvlinks;
    if (lanes.of(gpu) <= own) continue;
    throw ConfigError(
        {file, 0, 0},
        fmt::format("{} has {} NVLinks, more than the {} of {}; expected another GPU model",
                    device.name, lanes.of(gpu), own, device.model));
  }
}

void require_known(const std::vector<std::string>& names, const std::vector<std::string>& known,
                   const std::string& what, const std::string& file) {
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      fail_name(what, name, known, file);
    }
  }
}

}  // namespace gradwire
