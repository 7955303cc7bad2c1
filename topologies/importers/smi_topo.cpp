#include "topologies/importers/smi_topo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cassert>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.hpp"
#include "topologies/importers/smi_matrix.hpp"
#include "topologies/links.hpp"
#include "topologies/node_links.hpp"

namespace gradwire {
namespace {

/// Group number of each device, counted in order of the first member.
using Groups = std::vector<std::size_t>;

std::size_t count(const Groups& groups) {
  return groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
}

/// The first device of a group.
std::size_t first_of(const Groups& groups, std::size_t group) {
  return static_cast<std::size_t>(std::find(groups.begin(), groups.end(), group) - groups.begin());
}

/// The levels of the PCIe tree; each is a refinement of the next.
struct Levels {
  Groups switches;  ///< PIX
  Groups roots;     ///< PXB
  Groups bridges;   ///< PHB
  Groups numas;     ///< NODE
};

class Importer {
 public:
  Importer(SmiMatrix matrix, std::string file, const SmiTopoOptions& options)
      : matrix_(std::move(matrix)), file_(std::move(file)), options_(options) {
    const GpuWires* wires = find_gpu_wires(options.gpu);
    if (wires == nullptr) fail_name("GPU model", options.gpu, gpu_wires_names());
    if (find_port_kind(options.nic) == nullptr)
      fail_name("NIC kind", options.nic, port_kind_names());
    const WireKind* smp = find_wire_kind(options.cpu);
    if (smp == nullptr || smp->kind != LinkKind::smp) {
      std::vector<std::string> names;
      for (const WireKind& kind : wire_kinds()) {
        if (kind.kind == LinkKind::smp) names.push_back(kind.name);
      }
      fail_name("CPU", options.cpu, names);
    }
    wires_ = *wires;
    smp_bandwidth_ = smp->bandwidth;
    slot_bandwidth_ = find_wire_kind(wires_.pcie)->bandwidth;
    result_.node.name = options.name;
    result_.node.source = options.source;
  }

  SmiTopoImport run() {
    note_missing_rows();
    const Levels levels = find_levels();
    const bool switched = has_nvswitch();
    add_pcie_tree(levels, switched);
    join_sockets();
    add_nvlinks(switched);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, 0, 0}, message);
  }
  [[noreturn]] void fail_name(const std::string& what, const std::string& name,
                              const std::vector<std::string>& known) const {
    fail(fmt::format("unknown {} '{}'; expected one of {}{}", what, name, fmt::join(known, ", "),
                     suggestion(name, known)));
  }

  [[nodiscard]] std::size_t size() const { return matrix_.devices.size(); }
  [[nodiscard]] bool is_gpu(std::size_t device) const {
    return device < static_cast<std::size_t>(matrix_.gpus);
  }

  void note_missing_rows() {
    for (const SmiDevice& device : matrix_.devices) {
      if (device.has_row) continue;
      result_.assumptions.push_back(
          fmt::format("no row of {}: its place is known only from the other rows", device.name));
    }
  }

  /// Devices whose path is at most `level` apart are in one group, and so on along chains.
  [[nodiscard]] Groups groups_within(PathClass level, bool by_affinity) const {
    boost::disjoint_sets_with_storage<> sets(size());
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool near = matrix_.cells[a][b].path <= level;
        if (near || (by_affinity && same_affinity(a, b))) sets.union_set(a, b);
      }
    }
    Groups groups;
    std::map<std::size_t, std::size_t> numbers;
    for (std::size_t a = 0; a < size(); ++a) {
      groups.push_back(numbers.try_emplace(sets.find_set(a), numbers.size()).first->second);
    }
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const PathClass path = matrix_.cells[a][b].path;
        if (groups[a] != groups[b] || path <= level || path == PathClass::unknown) continue;
        fail(fmt::format("{} and {} are further apart than their paths to other devices allow",
                         matrix_.devices[b].name, matrix_.devices[a].name));
      }
    }
    return groups;
  }

  /// NV# hides a pair's PCIe class: the same CPUs then mean the same NUMA node.
  [[nodiscard]] bool same_affinity(std::size_t a, std::size_t b) const {
    if (matrix_.cells[a][b].path != PathClass::unknown) return false;
    const SmiDevice& left = matrix_.devices[a];
    const SmiDevice& right = matrix_.devices[b];
    if (left.numa >= 0 && right.numa >= 0) return left.numa == right.numa;
    return !left.cpu_affinity.empty() && left.cpu_affinity == right.cpu_affinity;
  }

  Levels find_levels() {
    const Groups told = groups_within(PathClass::node, false);
    Levels levels{groups_within(PathClass::pix, false), groups_within(PathClass::pxb, false),
                  groups_within(PathClass::phb, false), groups_within(PathClass::node, true)};
    if (levels.numas != told) {
      result_.assumptions.emplace_back(
          "NV# hides the PCIe path between GPUs: those with the same CPU affinity share a NUMA "
          "node");
    }
    return levels;
  }

  void add_pcie_tree(const Levels& levels, bool switched) {
    NodeGraph& node = result_.node;
    std::vector<DeviceId> bridges;
    for (std::size_t group = 0; group < count(levels.numas); ++group) {
      const int numa = matrix_.devices[first_of(levels.numas, group)].numa;
      numas_.push_back(node.add({.kind = DeviceKind::numa, .numa = numa}));
    }
    for (std::size_t group = 0; group < count(levels.bridges); ++group) {
      const std::size_t member = first_of(levels.bridges, group);
      bridges.push_back(
          node.add({.kind = DeviceKind::host_bridge, .numa = matrix_.devices[member].numa}));
      std::set<std::size_t> slots;
      for (std::size_t device = member; device < size(); ++device) {
        if (levels.bridges[device] == group) slots.insert(levels.roots[device]);
      }
      connect_slot(bridges.back(), numas_[levels.numas[member]],
                   static_cast<double>(slots.size()) * slot_bandwidth_, pcie_hop_latency);
    }
    // Where each device hangs: its bridge, or the lowest switch that it shares with another.
    std::vector<DeviceId> parents;
    for (std::size_t device = 0; device < size(); ++device) {
      parents.push_back(bridges[levels.bridges[device]]);
    }
    for (const Groups* level : {&levels.roots, &levels.switches}) {
      add_switches(*level, levels.switches, parents);
    }
    if (switched) nvswitch_ = node.add({.kind = DeviceKind::nvswitch});
    for (std::size_t device = 0; device < size(); ++device) {
      const DeviceId id = add_endpoint(device);
      connect_slot(id, parents[device], slot_bandwidth_,
                   is_gpu(device) ? gpu_pcie_latency : pcie_hop_latency);
    }
  }

  /// A switch for each group of `level` that joins several devices and is not one `lower` switch.
  void add_switches(const Groups& level, const Groups& lower, std::vector<DeviceId>& parents) {
    for (std::size_t group = 0; group < count(level); ++group) {
      std::vector<std::size_t> members;
      std::set<std::size_t> lower_groups;
      for (std::size_t device = 0; device < size(); ++device) {
        if (level[device] != group) continue;
        members.push_back(device);
        lower_groups.insert(lower[device]);
      }
      const bool is_lowest = &level == &lower;
      if (members.size() < 2 || (!is_lowest && lower_groups.size() < 2)) continue;
      const DeviceId added = result_.node.add({.kind = DeviceKind::pcie_switch});
      connect_slot(added, parents[members.front()], slot_bandwidth_, pcie_hop_latency);
      for (const std::size_t member : members) parents[member] = added;
    }
  }

  DeviceId add_endpoint(std::size_t device) {
    const SmiDevice& read = matrix_.devices[device];
    if (is_gpu(device)) {
      return result_.node.add({.kind = DeviceKind::gpu, .model = options_.gpu, .numa = read.numa});
    }
    return result_.node.add({.name = read.name, .kind = DeviceKind::nic, .model = options_.nic});
  }

  void connect_slot(DeviceId lower, DeviceId upper, BytesPerSecond bandwidth, Seconds latency) {
    result_.node.connect(lower, upper,
                         {.kind = LinkKind::pcie, .bandwidth = bandwidth, .latency = latency});
  }

  void join_sockets() {
    for (std::size_t b = 1; b < numas_.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        result_.node.connect(
            numas_[a], numas_[b],
            {.kind = LinkKind::smp, .bandwidth = smp_bandwidth_, .latency = smp_latency});
      }
    }
  }

  /// Lanes of a GPU to all its peers together; more than it has means that they are shared.
  [[nodiscard]] bool has_nvswitch() const {
    bool shared = false;
    for (std::size_t a = 0; is_gpu(a); ++a) {
      int lanes = 0;
      for (std::size_t b = 0; is_gpu(b); ++b) {
        const int pair = matrix_.cells[a][b].nvlinks;
        if (pair > wires_.nvlinks) {
          fail(fmt::format("{}-{} is NV{}, but a {} has {} NVLinks; expected another GPU model",
                           matrix_.devices[a].name, matrix_.devices[b].name, pair, options_.gpu,
                           wires_.nvlinks));
        }
        lanes += pair;
      }
      shared = shared || lanes > wires_.nvlinks;
    }
    return shared;
  }

  void add_nvlinks(bool switched) {
    const auto connect = [&](DeviceId a, DeviceId b, int lanes, Seconds latency) {
      if (lanes == 0) return;
      const BytesPerSecond lane = find_wire_kind(wires_.nvlink)->bandwidth;
      result_.node.connect(a, b,
                           {LinkKind::nvlink, static_cast<double>(lanes) * lane, latency, lanes});
    };
    const std::vector<DeviceId> gpus = result_.node.gpus();
    for (std::size_t a = 0; a < gpus.size(); ++a) {
      int most = 0;
      for (std::size_t b = 0; b < gpus.size(); ++b) {
        const int lanes = matrix_.cells[a][b].nvlinks;
        most = std::max(most, lanes);
        if (!switched && a < b) connect(gpus[a], gpus[b], lanes, nvlink_latency);
      }
      if (switched) connect(gpus[a], nvswitch_, most, 0.5 * nvlink_latency);
    }
  }

  SmiMatrix matrix_;
  std::string file_;
  SmiTopoOptions options_;
  GpuWires wires_;
  BytesPerSecond slot_bandwidth_;
  BytesPerSecond smp_bandwidth_;
  std::vector<DeviceId> numas_;
  DeviceId nvswitch_ = 0;
  SmiTopoImport result_;
};

}  // namespace

SmiTopoImport import_smi_topo(std::string_view text, const std::string& file,
                              const SmiTopoOptions& options) {
  return Importer(read_smi_matrix(text, file), file, options).run();
}

}  // namespace gradwire
