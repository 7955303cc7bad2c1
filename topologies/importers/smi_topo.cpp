#include "topologies/importers/smi_topo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "topologies/importers/smi_matrix.hpp"
#include "topologies/importers/smi_merge.hpp"

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
  Importer(const LinkTables& links, SmiMatrix matrix, std::string file,
           const SmiTopoOptions& options)
      : links_(links), matrix_(std::move(matrix)), file_(std::move(file)), options_(options) {
    name_gpus();
    wires_ = require_gpu(links_, options_.gpu, file_);
    if (!options_.nic.empty()) static_cast<void>(require_port(links_, options_.nic, file_));
    if (!options_.cpu.empty()) static_cast<void>(require_socket_link(links_, options_.cpu, file_));
    slot_bandwidth_ = links_.find_wire(wires_.pcie)->bandwidth;
    result_.node.name = options.name;
    result_.node.source = options.source;
  }

  ImportedNode run() {
    note_missing_rows();
    const Levels levels = find_levels();
    assume_kinds(count(levels.numas));
    const auto gpus = static_cast<std::size_t>(matrix_.gpus);
    const NvlinkLanes lanes = lanes_of(matrix_, std::vector<int>(gpus, wires_.nvlinks));
    add_pcie_tree(levels, lanes.has_switch());
    if (numas_.size() > 1) {
      const BytesPerSecond smp = require_socket_link(links_, options_.cpu, file_).bandwidth;
      join_sockets(result_.node, numas_, std::vector<BytesPerSecond>(numas_.size(), smp),
                   links_.smp_latency);
    }
    check_lanes(links_, result_.node, lanes, file_);
    add_nvlinks(links_, result_.node, lanes, nvswitch_);
    if (!wires_.peers_over_pcie) {
      result_.node.peer_to_peer = PeerToPeer::none;
      result_.assumptions.push_back(
          options_.gpu + " reaches no other device's memory over PCIe: peer_to_peer is none");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, 0, 0}, message);
  }

  [[nodiscard]] std::size_t size() const { return matrix_.devices.size(); }
  [[nodiscard]] bool is_gpu(std::size_t device) const {
    return device < static_cast<std::size_t>(matrix_.gpus);
  }

  /// The model that a name without a form means.
  void name_gpus() {
    SeenNvlinks seen{.gpus = matrix_.gpus};
    for (std::size_t a = 0; a < static_cast<std::size_t>(matrix_.gpus); ++a) {
      int own = 0;
      int joined = 0;
      for (std::size_t b = 0; b < static_cast<std::size_t>(matrix_.gpus); ++b) {
        own += matrix_.cells[a][b].nvlinks;
        joined += matrix_.cells[a][b].nvlinks > 0 ? 1 : 0;
      }
      seen.lanes = std::max(seen.lanes, own);
      seen.peers = std::max(seen.peers, joined);
    }
    const std::string model = links_.gpu_of_form(options_.gpu, seen);
    if (model == options_.gpu) return;
    result_.assumptions.push_back(
        fmt::format("{} is taken as {}, by its NVLinks", options_.gpu, model));
    options_.gpu = model;
  }

  void note_missing_rows() {
    std::vector<std::string> names;
    for (const SmiDevice& device : matrix_.devices) {
      if (!device.has_row) names.push_back(device.name);
    }
    if (names.empty()) return;
    result_.assumptions.push_back(fmt::format(
        "no row of {}: what is known of it stands in the other rows", joined_by(names, ", ")));
  }

  void assume_kinds(std::size_t sockets) {
    const MachineParts& parts = links_.parts_beside(wires_);
    const auto assume = [&](std::string& option, const std::string& kind, const std::string& what) {
      if (!option.empty()) return;
      option = kind;
      result_.assumptions.push_back(fmt::format("{} {} ({})", what, kind, parts.source));
    };
    if (size() > static_cast<std::size_t>(matrix_.gpus)) {
      assume(options_.nic, parts.port, "the NICs' ports are of kind");
    }
    if (sockets > 1) assume(options_.cpu, parts.socket, "the link between sockets is that of");
  }

  using Sets = boost::disjoint_sets_with_storage<>;

  /// Whether the matrix tells a path longer than `level` between devices of two sets.
  [[nodiscard]] bool are_apart(Sets& sets, std::size_t a, std::size_t b, PathClass level) const {
    for (std::size_t x = 0; x < size(); ++x) {
      for (std::size_t y = 0; y < size(); ++y) {
        const PathClass path = matrix_.cells[x][y].path;
        if (path <= level || path == PathClass::unknown) continue;
        if (sets.find_set(x) == sets.find_set(a) && sets.find_set(y) == sets.find_set(b)) {
          return true;
        }
      }
    }
    return false;
  }

  /// Joins what has the same CPU affinity, but for what the matrix tells to be further apart.
  void join_by_affinity(Sets& sets, PathClass level) {
    bool contradicts = false;
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!same_affinity(a, b) || sets.find_set(a) == sets.find_set(b)) continue;
        if (are_apart(sets, a, b, level)) {
          contradicts = true;
        } else {
          sets.union_set(a, b);
        }
      }
    }
    if (!contradicts) return;
    result_.assumptions.emplace_back(
        "the column CPU Affinity is the same for GPUs that the matrix has on several sockets: "
        "the matrix is trusted");
  }

  /// Devices whose path is at most `level` apart are in one group, and so on along chains.
  [[nodiscard]] Groups groups_within(PathClass level, bool by_affinity) {
    Sets sets(size());
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (matrix_.cells[a][b].path <= level) sets.union_set(a, b);
      }
    }
    if (by_affinity) join_by_affinity(sets, level);
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
      numas_.push_back(node.add({.kind = DeviceKind::numa, .model = options_.cpu, .numa = numa}));
    }
    for (std::size_t group = 0; group < count(levels.bridges); ++group) {
      const std::size_t member = first_of(levels.bridges, group);
      bridges.push_back(
          node.add({.kind = DeviceKind::host_bridge, .numa = matrix_.devices[member].numa}));
      std::set<std::size_t> slots;
      for (std::size_t device = member; device < size(); ++device) {
        if (levels.bridges[device] == group) slots.insert(levels.roots[device]);
      }
      connect_slot(result_.node, bridges.back(), numas_[levels.numas[member]],
                   static_cast<double>(slots.size()) * slot_bandwidth_, links_.pcie_hop_latency);
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
      connect_slot(result_.node, id, parents[device], slot_bandwidth_,
                   is_gpu(device) ? links_.gpu_pcie_latency : links_.pcie_hop_latency);
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
      connect_slot(result_.node, added, parents[members.front()], slot_bandwidth_,
                   links_.pcie_hop_latency);
      for (const std::size_t member : members) parents[member] = added;
    }
  }

  DeviceId add_endpoint(std::size_t device) {
    const SmiDevice& read = matrix_.devices[device];
    if (result_.node.find(read.name)) {
      fail(fmt::format("device '{}' stands twice; expected a name of its own", read.name));
    }
    if (is_gpu(device)) {
      return result_.node.add({.kind = DeviceKind::gpu, .model = options_.gpu, .numa = read.numa});
    }
    return result_.node.add({.name = read.name, .kind = DeviceKind::nic, .model = options_.nic});
  }

  const LinkTables& links_;
  SmiMatrix matrix_;
  std::string file_;
  SmiTopoOptions options_;
  GpuWires wires_;
  BytesPerSecond slot_bandwidth_;
  std::vector<DeviceId> numas_;
  DeviceId nvswitch_ = 0;
  ImportedNode result_;
};

}  // namespace

ImportedNode import_smi_topo(const LinkTables& links, std::string_view text,
                             const std::string& file, const SmiTopoOptions& options) {
  const SmiMatrix matrix = read_smi_matrix(text, file);
  return Importer(links, without_nics(matrix, options.leave_out, file), file, options).run();
}

}  // namespace gradwire
