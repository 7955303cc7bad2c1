#include "topologies/importers/nccl_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "topologies/importers/nccl_nics.hpp"
#include "topologies/importers/pci_ids.hpp"

namespace gradwire {
namespace {

class DeviceFinder {
 public:
  DeviceFinder(const LinkTables& links, const NcclXmlSystem& system, const std::string& file,
               const NcclTopoOptions& options, Told& told)
      : links_(links), system_(system), file_(file), options_(options), told_(told) {}

  NcclDevices find() {
    for (std::size_t cpu = 0; cpu < system_.cpus.size(); ++cpu) {
      for (const NcclPci& pci : system_.cpus[cpu].pci) walk(pci, {cpu, {}, nullptr, nullptr});
      for (const NcclNet& net : system_.cpus[cpu].nets) nics_.push_back({cpu, {}, nullptr, &net});
    }
    if (gpus_.empty()) {
      throw ConfigError(system_.cpus.front().where,
                        "no GPU found: no <gpu> and no <pci> of class 0x03; expected at least one");
    }
    sort_devices();
    leave_out_nics();
    choose_models();
    return {std::move(gpus_), std::move(nics_), std::move(models_)};
  }

 private:
  void walk(const NcclPci& pci, NcclPlace place) {
    place.pci = &pci;
    if (pci.side_links) told_.add(pci.bus, "links between PCIe switches (pcilink) are left out");
    if (pci.kind == PciKind::gpu) gpus_.push_back(place);
    if (pci.kind == PciKind::nic && pci.nets.empty()) nics_.push_back(place);
    if (pci.nets.size() > 1) place.above.push_back(&pci);  // the ports share their card's slot
    for (const NcclNet& net : pci.nets) {
      place.net = &net;
      nics_.push_back(place);
    }
    if (pci.children.empty()) return;
    place.net = nullptr;
    if (place.above.empty() || place.above.back() != &pci) place.above.push_back(&pci);
    for (const NcclPci& child : pci.children) walk(child, place);
  }

  /// By NCCL's numbers where every device has one, else by bus ids, as NVML counts.
  void sort_devices() {
    const auto numbered = [](const NcclPlace& gpu) {
      return gpu.pci->gpu && gpu.pci->gpu->dev >= 0;
    };
    const bool all = std::all_of(gpus_.begin(), gpus_.end(), numbered);
    if (!all) told_.add("the GPUs", "no number (dev) of each is stated, so they count by bus id");
    const auto bus = [](const NcclPlace& place) {
      const std::string id = place.pci == nullptr ? "" : place.pci->bus;
      return std::tuple(id.find(':'), id);
    };
    std::stable_sort(gpus_.begin(), gpus_.end(), [&](const NcclPlace& a, const NcclPlace& b) {
      return all ? a.pci->gpu->dev < b.pci->gpu->dev : bus(a) < bus(b);
    });
    const bool ports = std::all_of(nics_.begin(), nics_.end(), [](const NcclPlace& nic) {
      return nic.net != nullptr && nic.net->dev >= 0;
    });
    std::stable_sort(nics_.begin(), nics_.end(), [&](const NcclPlace& a, const NcclPlace& b) {
      return ports ? a.net->dev < b.net->dev : bus(a) < bus(b);
    });
    for (const NcclPlace& gpu : gpus_) {
      if (numbered(gpu) && gpu.pci->gpu->rank < 0) {
        told_.add(gpu.pci->bus,
                  "took no part in the communicator that wrote the file, but is kept");
      }
    }
  }

  void leave_out_nics() {
    std::vector<std::string> known;
    for (const NcclPlace& nic : nics_) {
      if (nic.net != nullptr) known.push_back(nic.net->name);
    }
    require_known(options_.leave_out, known, "NIC", file_);
    std::erase_if(nics_, [&](const NcclPlace& nic) {
      if (nic.net == nullptr) return false;
      const std::string& name = nic.net->name;
      const bool is_virtual = nic.pci == nullptr && is_virtual_interface(name);
      if (is_virtual) told_.add(name, "an interface of bridges or containers, left out");
      return is_virtual || std::find(options_.leave_out.begin(), options_.leave_out.end(), name) !=
                               options_.leave_out.end();
    });
  }

  void choose_models() {
    SeenNvlinks seen{.gpus = static_cast<int>(gpus_.size())};
    for (const NcclPlace& gpu : gpus_) {
      if (!gpu.pci->gpu) continue;
      int lanes = 0;
      for (const NcclNvlink& link : gpu.pci->gpu->nvlinks) lanes += link.count;
      seen.lanes = std::max(seen.lanes, lanes);
      seen.peers = std::max(seen.peers, static_cast<int>(gpu.pci->gpu->nvlinks.size()));
    }
    for (const NcclPlace& gpu : gpus_) {
      std::string model = links_.gpu_of_form(options_.gpu, seen);
      if (model != options_.gpu) {
        told_.add(options_.gpu, "is taken as " + model + ", by its NVLinks");
      }
      if (model.empty()) model = links_.gpu_of_pci_device(gpu.pci->device);
      if (model.empty()) {
        throw ConfigError(
            gpu.pci->where,
            fmt::format(
                "the GPU's model is not stated (PCI device '{}'); expected the option --gpu "
                "with one of {}",
                gpu.pci->device, joined_by(links_.gpu_names(), ", ")));
      }
      models_.push_back(std::move(model));
    }
  }

  const LinkTables& links_;
  const NcclXmlSystem& system_;
  const std::string& file_;
  const NcclTopoOptions& options_;
  Told& told_;
  std::vector<NcclPlace> gpus_;
  std::vector<NcclPlace> nics_;
  std::vector<std::string> models_;
};

bool is_below(const NcclPlace& place, const NcclPci& pci) {
  return std::find(place.above.begin(), place.above.end(), &pci) != place.above.end();
}

}  // namespace

PathClass path_between(const NcclPlace& a, const NcclPlace& b) {
  if (a.cpu != b.cpu) return PathClass::sys;
  if (a.above.empty() || b.above.empty() || a.above.front() != b.above.front()) {
    return PathClass::phb;
  }
  return a.above.back() == b.above.back() ? PathClass::pix : PathClass::pxb;
}

NcclDevices find_devices(const LinkTables& links, const NcclXmlSystem& system,
                         const std::string& file, const NcclTopoOptions& options, Told& told) {
  return DeviceFinder(links, system, file, options, told).find();
}

BytesPerSecond NcclSlots::written(const NcclPci& pci, const WireKind& fallback) const {
  constexpr int full_width = 16;  // lanes of a slot that is not stated: NCCL's own rule
  const WireKind* wire = links_.find_pcie(pci.gigatransfers);
  if (wire == nullptr) {
    told_.add(pci.bus, fmt::format("link speed '{}' is none of PCIe's: taken as {}", pci.speed_text,
                                   fallback.name));
    wire = &fallback;
  }
  if (pci.width == 0) told_.add(pci.bus, "link width 0 is taken as 16");
  const int width = pci.width == 0 ? full_width : pci.width;
  return static_cast<double>(width) / full_width * wire->bandwidth;
}

BytesPerSecond NcclSlots::of_gpu(std::size_t gpu) const {
  const std::string& model = devices_.models[gpu];
  const WireKind& own = *links_.find_wire(links_.find_gpu(model)->pcie);
  const NcclPci& pci = *devices_.gpus[gpu].pci;
  const BytesPerSecond told = written(pci, own);
  if (told <= own.bandwidth) return told;
  told_.add(pci.bus, fmt::format("link speed '{}' is more than {} has: taken as {}", pci.speed_text,
                                 model, own.name));
  return own.bandwidth;
}

BytesPerSecond NcclSlots::of_nic(const NcclPlace& nic) const {
  const WireKind& fallback = *links_.find_wire("pcie3");
  if (nic.pci != nullptr) return written(*nic.pci, fallback);
  told_.add(nic.net->name,
            "a port of no PCI device: its slot is taken to carry what the port does");
  return nic.net->speed.value_or(fallback.bandwidth);
}

BytesPerSecond NcclSlots::of_switch(const NcclPci& pci) const {
  constexpr double slowest = 2.5;  // GT/s on one lane: what virtual machines show
  const bool is_virtual = pci.gigatransfers <= slowest && pci.width == 1;
  const WireKind* wire = links_.find_pcie(pci.gigatransfers);
  if (!is_virtual && wire != nullptr) return written(pci, *wire);
  told_.add(pci.bus,
            fmt::format("a bridge of '{}' x{} is taken as wide as the widest link below it",
                        pci.speed_text, pci.width));
  BytesPerSecond widest;
  for (std::size_t gpu = 0; gpu < devices_.gpus.size(); ++gpu) {
    if (is_below(devices_.gpus[gpu], pci)) widest = std::max(widest, of_gpu(gpu));
  }
  for (const NcclPlace& nic : devices_.nics) {
    if (is_below(nic, pci)) widest = std::max(widest, of_nic(nic));
  }
  return widest;
}

}  // namespace gradwire
