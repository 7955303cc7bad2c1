#include "topologies/node_links.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>

namespace gradwire {
namespace {

constexpr double GB = 1e9;  // NOLINT(readability-identifier-naming): the unit's name

std::vector<WireKind> make_kinds() {
  const std::string plan = "what NCCL plans with (v2.28.9, src/graph/topo.h)";
  const auto nvlink = [](std::string name, double payload, double nominal, std::string source) {
    return WireKind{std::move(name), LinkKind::nvlink, BytesPerSecond{payload * GB},
                    BytesPerSecond{nominal * GB}, std::move(source)};
  };
  const auto pcie = [&](std::string name, double payload, double nominal) {
    return WireKind{std::move(name), LinkKind::pcie, BytesPerSecond{payload * GB},
                    BytesPerSecond{nominal * GB}, "x16, " + plan};
  };
  const auto smp = [&](std::string name, double payload) {
    return WireKind{std::move(name), LinkKind::smp, BytesPerSecond{payload * GB}, std::nullopt,
                    "GPU traffic, " + plan};
  };
  return {
      nvlink("nvlink1", 18.0, 20, plan),
      nvlink("nvlink2", 22.5, 25,
             "all-reduce of 1 GiB over one lane between 2 V100: 22.55 GB/s (VIA-Research/vTrain "
             "trace/v100/AR_GPU2)"),
      nvlink("nvlink3", 20.0, 25, plan),
      nvlink("nvlink3_sm86", 12.0, 14.0625, plan),
      nvlink("nvlink4", 20.6, 25, plan),
      nvlink("nvlink5", 40.1, 50, plan),
      pcie("pcie1", 3, 4),
      pcie("pcie2", 6, 8),
      pcie("pcie3", 12, 15.75),
      pcie("pcie4", 24, 31.5),
      pcie("pcie5", 48, 63),
      pcie("pcie6", 96, 121),
      smp("broadwell", 6),
      smp("skylake", 10),
      smp("sapphire_rapids", 22),
      smp("emerald_rapids", 40),
      smp("amd", 16),
      smp("power9", 32),
      smp("arm", 6),
  };
}

/// Lanes and PCIe generation from NVIDIA's data sheets; a longer name stands before its beginning.
const std::array<GpuWires, 37>& gpu_table() {
  static const std::array<GpuWires, 37> table = {{
      {"k80", "", 0, "pcie3", 37},
      {"p100-sxm2", "nvlink1", 4, "pcie3", 60},
      {"p100", "", 0, "pcie3", 60},
      {"gtx1080ti", "", 0, "pcie3", 61},
      {"titanxp", "", 0, "pcie3", 61},
      {"v100-pcie", "", 0, "pcie3", 70},
      {"v100", "nvlink2", 6, "pcie3", 70},
      {"titan-v", "", 0, "pcie3", 70},
      {"t4", "", 0, "pcie3", 75},
      {"rtx2080ti", "nvlink2", 2, "pcie3", 75, false},
      {"titan-rtx", "nvlink2", 2, "pcie3", 75},
      {"rtx3090", "nvlink3_sm86", 4, "pcie4", 86, false},
      {"a6000", "nvlink3_sm86", 4, "pcie4", 86},
      {"a100", "nvlink3", 12, "pcie4", 80},
      {"a800", "nvlink3", 8, "pcie4", 80},
      {"a30", "nvlink3", 4, "pcie4", 80},
      {"a40", "nvlink3_sm86", 4, "pcie4", 86},
      {"a10", "", 0, "pcie4", 86},
      {"l20", "", 0, "pcie4", 89},
      {"l40", "", 0, "pcie4", 89},
      {"l4", "", 0, "pcie4", 89},
      {"rtx4090", "", 0, "pcie4", 89, false},
      {"rtx6000-ada", "", 0, "pcie4", 89},
      {"h100-pcie", "nvlink4", 12, "pcie5", 90},
      {"h100-nvl", "nvlink4", 12, "pcie5", 90},
      {"h100", "nvlink4", 18, "pcie5", 90},
      {"h200", "nvlink4", 18, "pcie5", 90},
      {"h800", "nvlink4", 8, "pcie5", 90},
      {"h20", "nvlink4", 18, "pcie5", 90},
      {"gh200", "nvlink4", 18, "pcie5", 90},
      {"b200", "nvlink5", 18, "pcie5", 100},
      {"gb200", "nvlink5", 18, "pcie5", 100},
      {"b300", "nvlink5", 18, "pcie6", 103},
      {"gb300", "nvlink5", 18, "pcie6", 103},
      {"rtx5090", "", 0, "pcie5", 120, false},
      {"gb10", "", 0, "pcie5", 121},
      {"rtx-pro-6000", "", 0, "pcie5", 120},
  }};
  return table;
}

/// Of NVIDIA's own machines, by their data sheets and user guides; from such a compute capability
/// on. Of generations without one: as those of the time.
struct Generation {
  int capability = 0;
  MachineParts parts;
};
const std::array<Generation, 6>& generations() {
  static const std::array<Generation, 6> all = {{
      {0, {"ib_fdr", "broadwell", "Kepler's time: Azure NC24r has FDR and Haswell"}},
      {60, {"ib_edr", "broadwell", "DGX-1: ConnectX-4 EDR, Xeon E5-2698 v4"}},
      {70, {"ib_edr", "skylake", "DGX-2: ConnectX-5 EDR, Xeon Platinum 8168"}},
      {80, {"ib_hdr", "amd", "DGX A100: ConnectX-6 HDR, EPYC 7742"}},
      {89, {"ib_ndr", "sapphire_rapids", "DGX H100: ConnectX-7 NDR, Xeon Platinum 8480C"}},
      {100, {"ib_ndr", "emerald_rapids", "DGX B200: ConnectX-7 NDR, Xeon Platinum 8570"}},
  }};
  return all;
}

/// A name without a form, and the two models that it may mean. Where a form comes with several
/// memories, the first that was sold.
struct Forms {
  std::string name;
  std::string module;
  int lanes = 0;  ///< of the module
  std::string card;
};
const std::array<Forms, 7>& forms() {
  static const std::array<Forms, 7> all = {{
      {"p100", "p100-sxm2-16gb", 4, "p100-pcie-16gb"},
      {"v100", "v100-sxm2-16gb", 6, "v100-pcie-16gb"},
      {"a100", "a100-sxm4-40gb", 12, "a100-pcie-40gb"},
      {"a800", "a800-sxm4-80gb", 8, "a800-sxm4-80gb"},
      {"h100", "h100-sxm5-80gb", 18, "h100-pcie-80gb"},
      {"h200", "h200-sxm5-141gb", 18, "h200-sxm5-141gb"},
      {"gh200", "gh200-96gb", 18, "gh200-96gb"},
  }};
  return all;
}

}  // namespace

const MachineParts& parts_beside(const GpuWires& gpu) {
  static const MachineParts grace{"ib_ndr", "arm", "GH200: ConnectX-7 NDR, Grace"};
  static const MachineParts spark{"roce_200g", "arm", "DGX Spark: ConnectX-7 at 200 Gbit/s, Grace"};
  if (gpu.model == "gh200") return grace;
  if (gpu.model == "gb10") return spark;
  const auto& all = generations();
  const auto* later =
      std::ranges::upper_bound(all, gpu.compute_capability, {}, &Generation::capability);
  return std::prev(later)->parts;
}

std::string gpu_of_form(const std::string& name, const SeenNvlinks& seen) {
  const auto& all = forms();
  const auto* const found = std::ranges::find(all, name, &Forms::name);
  if (found == all.end()) return name;
  const bool is_pair_of_modules = seen.gpus == 2 && seen.lanes >= found->lanes;
  return seen.peers > 1 || is_pair_of_modules ? found->module : found->card;
}

std::span<const WireKind> wire_kinds() {
  static const std::vector<WireKind> kinds = make_kinds();
  return kinds;
}

const WireKind* find_wire_kind(std::string_view name) {
  const auto kinds = wire_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const WireKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

const WireKind* find_pcie_wire(double gigatransfers) {
  constexpr std::array<std::pair<double, std::string_view>, 6> generations = {
      {{2.5, "pcie1"}, {5, "pcie2"}, {8, "pcie3"}, {16, "pcie4"}, {32, "pcie5"}, {64, "pcie6"}}};
  for (const auto& [rate, name] : generations) {
    if (std::abs(rate - gigatransfers) < 0.01) return find_wire_kind(name);
  }
  return nullptr;
}

std::vector<std::string> socket_link_names() {
  std::vector<std::string> names;
  for (const WireKind& wire : wire_kinds()) {
    if (wire.kind == LinkKind::smp) names.push_back(wire.name);
  }
  return names;
}

const WireKind& fastest_wire(LinkKind kind) {
  const WireKind* fastest = nullptr;
  for (const WireKind& wire : wire_kinds()) {
    if (wire.kind != kind || !wire.nominal) continue;
    if (fastest == nullptr || *wire.nominal > *fastest->nominal) fastest = &wire;
  }
  assert(fastest != nullptr);
  return *fastest;
}

const GpuWires* find_gpu_wires(std::string_view model) {
  const auto& table = gpu_table();
  const auto* found = std::find_if(table.begin(), table.end(), [&](const GpuWires& gpu) {
    return model.starts_with(gpu.model);
  });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> gpu_wires_names() {
  std::vector<std::string> names;
  for (const GpuWires& gpu : gpu_table()) names.push_back(gpu.model);
  return names;
}

}  // namespace gradwire
