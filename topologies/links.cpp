#include "topologies/links.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gradwire {
namespace {

/// The first that is so, or nullptr.
template <class T, class Is>
const T* find_first(const std::vector<T>& all, const Is& is) {
  const auto found = std::ranges::find_if(all, is);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const PortKind* LinkTables::find_port(std::string_view name) const {
  return find_first(ports, [&](const PortKind& kind) { return kind.port.name == name; });
}

const WireKind* LinkTables::find_wire(std::string_view name) const {
  return find_first(wires, [&](const WireKind& kind) { return kind.name == name; });
}

const GpuWires* LinkTables::find_gpu(std::string_view model) const {
  return find_first(gpus, [&](const GpuWires& gpu) { return model.starts_with(gpu.model); });
}

const WireKind* LinkTables::find_pcie(double gigatransfers) const {
  constexpr double tolerance = 0.01;
  return find_first(wires, [&](const WireKind& wire) {
    return wire.kind == LinkKind::pcie && std::abs(wire.gigatransfers - gigatransfers) < tolerance;
  });
}

const WireKind& LinkTables::fastest_wire(LinkKind kind) const {
  const WireKind* fastest = nullptr;
  for (const WireKind& wire : wires) {
    if (wire.kind != kind || !wire.nominal) continue;
    if (fastest == nullptr || *wire.nominal > *fastest->nominal) fastest = &wire;
  }
  assert(fastest != nullptr);
  return *fastest;
}

const MachineParts& LinkTables::parts_beside(const GpuWires& gpu) const {
  const MachineParts* best = nullptr;
  for (const MachineParts& one : parts) {
    if (one.gpu == gpu.model) return one;
    if (one.gpu.empty() && one.from_capability <= gpu.compute_capability) best = &one;
  }
  assert(best != nullptr);
  return *best;
}

std::string LinkTables::gpu_of_form(const std::string& name, const SeenNvlinks& seen) const {
  const GpuForms* found =
      find_first(forms, [&](const GpuForms& form) { return form.name == name; });
  if (found == nullptr) return name;
  const bool is_pair_of_modules = seen.gpus == 2 && seen.lanes >= found->lanes;
  return seen.peers > 1 || is_pair_of_modules ? found->module : found->card;
}

std::string LinkTables::gpu_of_pci_device(const std::string& id) const {
  const PciDevice* found =
      find_first(pci_devices, [&](const PciDevice& device) { return device.id == id; });
  return found == nullptr ? "" : found->model;
}

std::vector<std::string> LinkTables::port_names() const {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortKind& kind : ports) names.push_back(kind.port.name);
  return names;
}

std::vector<std::string> LinkTables::gpu_names() const {
  std::vector<std::string> names;
  names.reserve(gpus.size());
  for (const GpuWires& gpu : gpus) names.push_back(gpu.model);
  return names;
}

std::vector<std::string> LinkTables::socket_names() const {
  std::vector<std::string> names;
  for (const WireKind& wire : wires) {
    if (wire.kind == LinkKind::smp) names.push_back(wire.name);
  }
  return names;
}

}  // namespace gradwire
