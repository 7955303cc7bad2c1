#include "topologies/importers/nccl_topo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "sim/core/error.hpp"
#include "topologies/importers/nccl_nics.hpp"
#include "topologies/importers/nccl_nvlinks.hpp"
#include "topologies/importers/nccl_places.hpp"
#include "topologies/importers/nccl_xml.hpp"
#include "topologies/importers/smi_merge.hpp"

namespace gradwire {
namespace {

/// A PCIe switch in use.
struct Switch {
  const NcclPci* pci = nullptr;
  const NcclPci* outer = nullptr;  ///< the switch above, nullptr: the host bridge
  std::size_t cpu = 0;
  bool operator==(const Switch&) const = default;
};

/// Outer ones before inner ones.
std::vector<Switch> switches_of(const NcclDevices& devices) {
  std::vector<Switch> found;
  for (const auto* places : {&devices.gpus, &devices.nics}) {
    for (const NcclPlace& place : *places) {
      const NcclPci* outer = nullptr;
      for (const NcclPci* at : place.above) {
        const Switch one{at, outer, place.cpu};
        if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
        outer = at;
      }
    }
  }
  return found;
}

/// As NCCL tells processors apart (v2.28.9, src/graph/topo.cc): Intel's by their model number.
/// @return "" when nothing tells.
std::string cpu_kind(const NcclCpu& cpu) {
  constexpr int emerald_rapids = 0xCF;
  constexpr int sapphire_rapids = 0x8F;
  constexpr int skylake = 0x55;
  if (cpu.arch == "arm64") return "arm";
  if (cpu.arch == "ppc64") return "power9";
  if (cpu.vendor == "AuthenticAMD") return "amd";
  if (cpu.vendor != "GenuineIntel") return "";
  if (cpu.model >= emerald_rapids) return "emerald_rapids";
  if (cpu.model >= sapphire_rapids) return "sapphire_rapids";
  return cpu.model >= skylake ? "skylake" : "broadwell";
}

class NcclImporter {
 public:
  NcclImporter(const LinkTables& links, const NcclXmlSystem& system, const std::string& file,
               const NcclTopoOptions& options)
      : links_(links),
        system_(system),
        file_(file),
        options_(options),
        devices_(find_devices(links, system, file, options, told_)) {
    if (!options.nic.empty()) static_cast<void>(require_port(links_, options.nic, file_));
    for (const std::string& model : devices_.models) {
      static_cast<void>(require_gpu(links_, model, file_));
    }
    result_.node.name = options.name;
    result_.node.source = options.source;
  }

  ImportedNode run() {
    NcclNvlinks nvlinks = find_nvlinks(devices_, told_);
    if (options_.matrix) merge(nvlinks.lanes);
    if (!nvlinks.lanes.any()) tell_absent_nvlinks(nvlinks);
    add_devices(nvlinks.lanes.has_switch());
    add_slots();
    join_cpus();
    check_lanes(links_, result_.node, nvlinks.lanes, file_);
    add_nvlinks(links_, result_.node, nvlinks.lanes, nvswitch_);
    add_processor_links(nvlinks.to_processor);
    const auto told = told_.sentences();
    result_.assumptions.insert(result_.assumptions.begin(), told.begin(), told.end());
    return std::move(result_);
  }

 private:
  void merge(NvlinkLanes& lanes) {
    OtherSource other{file_, {}, {}, {}};
    std::vector<int> own_lanes;
    std::vector<const NcclPlace*> places;
    for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
      other.buses.push_back(devices_.gpus[gpu].pci->bus);
      own_lanes.push_back(links_.find_gpu(devices_.models[gpu])->nvlinks);
      places.push_back(&devices_.gpus[gpu]);
    }
    for (const NcclPlace& nic : devices_.nics) {
      other.nics.push_back(nic.net == nullptr ? "" : nic.net->name);
      places.push_back(&nic);
    }
    for (const NcclPlace* a : places) {
      auto& row = other.paths.emplace_back();
      for (const NcclPlace* b : places) row.push_back(path_between(*a, *b));
    }
    merge_matrix(*options_.matrix, options_.matrix_file, other, own_lanes, lanes,
                 result_.assumptions);
  }

  void tell_absent_nvlinks(const NcclNvlinks& nvlinks) {
    for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
      const GpuWires& wires = *links_.find_gpu(devices_.models[gpu]);
      if (wires.nvlinks == 0 || nvlinks.to_processor.contains(gpu)) continue;
      told_.add(devices_.gpus[gpu].pci->bus,
                fmt::format("no usable NVLinks are stated, of {} that {} can have: none is taken "
                            "(a matrix shows them)",
                            wires.nvlinks, devices_.models[gpu]));
    }
  }

  /// As asked for, or as the file tells; "" when nothing does.
  [[nodiscard]] std::string kind_of(const NcclCpu& cpu) const {
    return options_.cpu.empty() ? cpu_kind(cpu) : options_.cpu;
  }

  void add_devices(bool switched) {
    NodeGraph& node = result_.node;
    for (const NcclCpu& cpu : system_.cpus) {
      numas_.push_back(
          node.add({.kind = DeviceKind::numa, .model = kind_of(cpu), .numa = cpu.numa}));
      if (cpu.numa < 0) told_.add(node.device(numas_.back()).name, "its number is hidden");
    }
    for (const auto* places : {&devices_.gpus, &devices_.nics}) {
      for (const NcclPlace& place : *places) {
        if (bridges_.contains(place.cpu)) continue;
        bridges_[place.cpu] =
            node.add({.kind = DeviceKind::host_bridge, .numa = system_.cpus[place.cpu].numa});
      }
    }
    for (const Switch& one : switches_of(devices_)) {
      switches_[one.pci] = node.add({.kind = DeviceKind::pcie_switch});
    }
    if (switched) nvswitch_ = node.add({.kind = DeviceKind::nvswitch});
    for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
      const int numa = system_.cpus[devices_.gpus[gpu].cpu].numa;
      node.add({.kind = DeviceKind::gpu, .model = devices_.models[gpu], .numa = numa});
    }
    for (const NcclPlace& place : devices_.nics) add_nic(place);
  }

  void add_nic(const NcclPlace& place) {
    const NicKind kind = nic_kind(links_, place.pci, place.net);
    const std::string written = place.net == nullptr ? "" : place.net->name;
    const std::string who = written.empty() ? place.pci->bus : written;
    if (options_.nic.empty() && !kind.doubt.empty()) told_.add(who, kind.doubt);
    if (place.net != nullptr && !place.net->gdr) {
      told_.add(who,
                "no GPUDirect RDMA: its bytes cross the host's memory (fabric.gpudirect: false)");
    }
    const std::string name =
        written.empty() ? fmt::format("nic{}", result_.node.nics().size()) : written;
    if (result_.node.find(name)) {
      throw ConfigError(place.net == nullptr ? place.pci->where : place.net->where,
                        fmt::format("device '{}' stands twice; expected a name of its own", name));
    }
    result_.node.add({.name = name,
                      .kind = DeviceKind::nic,
                      .model = options_.nic.empty() ? kind.model : options_.nic,
                      .numa = system_.cpus[place.cpu].numa});
  }

  void add_slots() {
    const NcclSlots slots(links_, devices_, told_);
    NodeGraph& node = result_.node;
    std::map<std::size_t, BytesPerSecond> sums;  // of the slots of each processor
    const auto hang = [&](DeviceId device, const NcclPci* upper, std::size_t cpu,
                          BytesPerSecond slot, Seconds latency) {
      if (upper == nullptr) sums[cpu] += slot;
      const DeviceId at = upper == nullptr ? bridges_.at(cpu) : switches_.at(upper);
      connect_slot(node, device, at, slot, latency);
    };
    const auto upper_of = [](const NcclPlace& place) {
      return place.above.empty() ? nullptr : place.above.back();
    };
    for (const Switch& one : switches_of(devices_)) {
      hang(switches_.at(one.pci), one.outer, one.cpu, slots.of_switch(*one.pci),
           links_.pcie_hop_latency);
    }
    for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
      const NcclPlace& place = devices_.gpus[gpu];
      hang(node.gpus()[gpu], upper_of(place), place.cpu, slots.of_gpu(gpu),
           links_.gpu_pcie_latency);
    }
    for (std::size_t nic = 0; nic < devices_.nics.size(); ++nic) {
      const NcclPlace& place = devices_.nics[nic];
      // A port of a card of several: the slot above is what they share, the rest is the card.
      const bool shares = place.pci != nullptr && upper_of(place) == place.pci;
      hang(node.nics()[nic], upper_of(place), place.cpu, slots.of_nic(place),
           shares ? Seconds{} : links_.pcie_hop_latency);
    }
    for (const auto& [cpu, bridge] : bridges_) {
      connect_slot(node, bridge, numas_[cpu], sums.at(cpu), links_.pcie_hop_latency);
    }
  }

  void join_cpus() {
    if (numas_.size() < 2) return;
    std::vector<BytesPerSecond> bandwidths;
    for (std::size_t number = 0; number < numas_.size(); ++number) {
      const NcclCpu& cpu = system_.cpus[number];
      std::string kind = kind_of(cpu);
      if (kind.empty()) {
        kind = "skylake";
        told_.add(result_.node.device(numas_[number]).name,
                  fmt::format("processor '{}' '{}' is taken as {}", cpu.arch, cpu.vendor, kind));
      }
      bandwidths.push_back(require_socket_link(links_, kind, file_).bandwidth);
    }
    join_sockets(result_.node, numas_, bandwidths, links_.smp_latency);
  }

  /// NVLinks to the GPU's own processor (POWER9) and NVLink-C2C (Grace).
  void add_processor_links(const std::map<std::size_t, int>& nvlinks) {
    const auto connect = [&](std::size_t gpu, int lanes, BytesPerSecond lane) {
      const BytesPerSecond all = static_cast<double>(lanes) * lane;
      result_.node.connect(result_.node.gpus()[gpu], numas_[devices_.gpus[gpu].cpu],
                           {LinkKind::nvlink, all, links_.nvlink_latency, lanes});
    };
    for (const auto& [gpu, lanes] : nvlinks) {
      const GpuWires& wires = *links_.find_gpu(devices_.models[gpu]);
      if (lanes > wires.nvlinks) {
        throw ConfigError(
            devices_.gpus[gpu].pci->where,
            fmt::format("{} NVLinks to its processor, more than the {} of {}; expected "
                        "another GPU model",
                        lanes, wires.nvlinks, devices_.models[gpu]));
      }
      connect(gpu, lanes, links_.find_wire(wires.nvlink)->bandwidth);
    }
    for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
      const auto& element = devices_.gpus[gpu].pci->gpu;
      if (element && element->c2c) connect(gpu, element->c2c->count, element->c2c->bandwidth);
    }
  }

  const LinkTables& links_;
  const NcclXmlSystem& system_;
  const std::string& file_;
  const NcclTopoOptions& options_;
  Told told_;
  NcclDevices devices_;
  std::vector<DeviceId> numas_;
  std::map<std::size_t, DeviceId> bridges_;      ///< of each processor that has devices
  std::map<const NcclPci*, DeviceId> switches_;  ///< looked up, never walked
  DeviceId nvswitch_ = 0;
  ImportedNode result_;
};

}  // namespace

ImportedNode import_nccl_topo(const LinkTables& links, std::string_view text,
                              const std::string& file, const NcclTopoOptions& options) {
  const NcclXmlSystem system = read_nccl_xml(text, file);
  return NcclImporter(links, system, file, options).run();
}

}  // namespace gradwire
