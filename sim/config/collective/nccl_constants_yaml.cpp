#include "sim/config/collective/nccl_constants_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "sim/config/data_files.hpp"

namespace gradwire::config {
namespace {

/// A minor version that NCCL 2 will not come to: no file is looked for beyond.
constexpr int release_last = 99;

std::string release_file(int minor) {
  return fmt::format("nccl/2.{}", minor);
}

bool is_shipped(const std::string& set) {
  std::error_code error;
  return std::filesystem::is_regular_file(data_file(DataKind::constants, set), error);
}

/// The set of the release, or of the last one before it that has one.
/// @param minor  of the set that is good for it.
std::string release_set(NcclVersion version, int minor) {
  for (int patch = version.minor == minor ? version.patch : 0; patch > 0; --patch) {
    std::string set = fmt::format("{}.{}", release_file(minor), patch);
    if (is_shipped(set)) return set;
  }
  return release_file(minor);
}

}  // namespace

void read_nccl_release(Constants& from, NcclConstants& to) {
  from.read("has_model", "", to.has_model);
  from.read("tree_base", "us", to.tree_base);
  from.read("ring_base", "us", to.ring_base);
  from.read("tree_hop", "us", to.tree_hop);
  from.read("ring_hop", "us", to.ring_hop);
  from.read("nvls_hop", "us", to.nvls_hop);
  from.read("nvls_network", "us", to.nvls_network);
  from.read("nvls_tree_network", "us", to.nvls_tree_network);
  from.read("pat_base", "us", to.pat_base);
  from.read("collnet_direct_hop", "us", to.collnet_direct_hop);
  from.read("collnet_chain_hop", "us", to.collnet_chain_hop);
  from.read("ll_local_factor", "", to.ll_local_factor);
  from.read("ring_network_detour", "", to.ring_network_detour);
  from.read("half_ring_network_detour", "", to.half_ring_network_detour);
  from.read("simple_network_latencies", "", to.simple_network_latencies);
  from.read("asks_for_latency", "", to.asks_for_latency);
  from.read("lone_tree_hop", "", to.lone_tree_hop);
  from.read("ll128_from_volta", "", to.ll128_from_volta);
  from.read("network_overhead", "", to.network_overhead);
  from.read("ampere_bus_max", "GB/s", to.ampere_bus_max);
  from.read("ring_ll", "", to.ring_ll);
  from.read("ring_ll_local", "", to.ring_ll_local);
  from.read("ring_ll128", "", to.ring_ll128);
  from.read("ring_ll128_lone", "", to.ring_ll128_lone);
  from.read("tree", "", to.tree);
  from.read("tree_ll128_network", "", to.tree_ll128_network);
  from.read("ll_max", "GB/s", to.ll_max);
  from.read("ring_ll128_channel", "GB/s", to.ring_ll128_channel);
  from.read("tree_ll128_channel", "GB/s", to.tree_ll128_channel);
  from.read("tree_channel", "GB/s", to.tree_channel);
  from.read("nvls_efficiency", "", to.nvls_efficiency);
  from.read("nvls_tree_channel", "GB/s", to.nvls_tree_channel);
  from.read("tree_ll128_correction", "", to.tree_ll128_correction);
  from.read("plateau_before_ampere", "", to.plateau_before_ampere);
  from.read("plateau", "", to.plateau);
  from.read("plateau_by_channel", "", to.plateau_by_channel);
  from.read("has_pat", "", to.has_pat);
  from.read("has_trees", "", to.has_trees);
  from.read("sends_lengths_ahead", "", to.sends_lengths_ahead);
  from.read("queues_by_channel", "", to.queues_by_channel);
  from.read("small_parts", "", to.small_parts);
  from.read("sockets_by_proxy", "", to.sockets_by_proxy);
  if (from.has("peer_channels_by_port")) {
    from.read("peer_channels_by_port", "", to.peer_channels_by_port);
  }
  from.read("several_connections", "", to.several_connections);
  from.read("rings_on_a_port", "", to.rings_on_a_port);
  from.read("nvlink_rings_on_a_port", "", to.nvlink_rings_on_a_port);
  from.read("socket_thread", "GB/s", to.socket_thread);
  from.read("efa_thread", "GB/s", to.efa_thread);
}

void read_nccl_measured(Constants& from, NcclConstants& to) {
  from.read("ll", "", to.measured.ll);
  from.read("ll128_other", "", to.measured.ll128_other);
  from.read("ll128_nvlink", "", to.measured.ll128_nvlink);
  from.read("ll_network_lines", "us", to.measured.ll_network_lines);
  from.read("ll_proxy", "GB/s", to.measured.ll_proxy);
  from.read("launch", "us", to.measured.launch);
  from.read("channel_host", "us", to.measured.channel_host);
  from.read("peer_host", "us", to.measured.peer_host);
  from.read("peer", "us", to.measured.peer);
  from.read("peer_share", "", to.measured.peer_share);
  from.read("peer_channel", "GB/s", to.measured.peer_channel);
  from.read("memory_passes", "", to.measured.memory_passes);
  from.read("tree_ll_base", "us", to.measured.tree_ll_base);
  from.read("ll_host_hop", "us", to.measured.ll_host_hop);
  from.read("tree_simple_hop", "us", to.measured.tree_simple_hop);
  from.read("slices_on_a_port", "", to.measured.slices_on_a_port);
  from.read("length_messages", "", to.measured.length_messages);
  from.read("nvls_tree_latencies", "", to.measured.nvls_tree_latencies);
  from.read("host_bridge_share", "", to.measured.host_bridge_share);
  from.read("host_duplex_share", "", to.measured.host_duplex_share);
  from.read("host_own_share", "", to.measured.host_own_share);
  from.read("counted_network_latency", "us", to.measured.counted_network_latency);
  from.read("connection_slots", "", to.measured.connection_slots);
  from.read("ll_slot", "B", to.measured.ll_slot);
  from.read("ll128_slot", "B", to.measured.ll128_slot);
  from.read("ring_chunk", "B", to.measured.ring_chunk);
  from.read("ring_slices", "", to.measured.ring_slices);
  from.read("ring_slice_min", "B", to.measured.ring_slice_min);
  from.read("prompt_message", "B", to.measured.prompt_message);
  from.read("nvls_lane", "GB/s", to.measured.nvls_lane);
  from.read("nvls_chunk", "B", to.measured.nvls_chunk);
  from.read("nvls_cut_rounds", "", to.measured.nvls_cut_rounds);
  from.read("nvls_cut_chunk", "B", to.measured.nvls_cut_chunk);
  from.read("nvls_tree_cut_rounds", "", to.measured.nvls_tree_cut_rounds);
  from.read("nvls_tree_cut_chunk", "B", to.measured.nvls_tree_cut_chunk);
  from.read("intel_p2p_overhead", "", to.intel_p2p_overhead);
  from.read("efa_stated_latency", "us", to.efa_stated_latency);
  from.read("nominal_over_payload", "", to.nominal_over_payload);
  from.read("pat_rounds_per_hop", "", to.pat_rounds_per_hop);
  from.read("pat_rank", "us", to.pat_rank);
  from.read("pat_bandwidth", "", to.pat_bandwidth);
  from.read("collnet_gpu", "us", to.collnet_gpu);
  from.read("collnet_hopper", "", to.collnet_hopper);
  from.read("tree_ll_correction", "", to.tree_ll_correction);
  from.read("tree_simple_correction", "", to.tree_simple_correction);
}

void read_nccl_generation(Constants& from, NcclGeneration& to) {
  from.read("ll_base", "us", to.ll_base);
  from.read("ll_hop", "us", to.ll_hop);
  from.read("ll_parts", "us", to.ll_parts);
  from.read("ll_lines", "us", to.ll_lines);
  from.read("ll128_base", "us", to.ll128_base);
  from.read("ll128_hop", "us", to.ll128_hop);
  from.read("simple_base", "us", to.simple_base);
  from.read("simple_hop", "us", to.simple_hop);
  from.read("tree_ll128_base", "us", to.tree_ll128_base);
  if (from.has("simple_pcie_hop")) from.read("simple_pcie_hop", "us", to.simple_pcie_hop);
  if (from.has("nvls_link")) {  // has switches that reduce
    from.read("nvls_link", "", to.nvls_link);
    from.read("nvls_base", "us", to.nvls_base);
    from.read("nvls_loop", "us", to.nvls_loop);
    from.read("nvls_loop_gpus", "", to.nvls_loop_gpus);
    from.read("nvls_loop_free", "", to.nvls_loop_free);
    from.read("nvls_tree_link", "", to.nvls_tree_link);
    from.read("nvls_channels", "", to.nvls_channels);
    from.read("nvls_tree_channels", "", to.nvls_tree_channels);
  } else {
    from.read("ll128_base_across", "us", to.ll128_base_across);
    from.read("ll128_hop_across", "us", to.ll128_hop_across);
  }
}

NcclConstants shipped_nccl(NcclVersion version, const std::vector<int>& capabilities) {
  NcclConstants constants;
  int minor = std::min(version.minor, release_last);
  while (minor > 0 && !is_shipped(release_file(minor))) --minor;
  constants.first_minor = minor;
  Constants of_release = Constants::shipped(release_set(version, minor), "nccl_release");
  read_nccl_release(of_release, constants);
  of_release.finish();
  Constants of_all = Constants::shipped("nccl/all", "nccl");
  read_nccl_measured(of_all, constants);
  of_all.finish();
  constexpr std::array<std::string_view, 4> names = {"volta", "ampere", "hopper", "blackwell"};
  for (std::size_t row = 0; row < names.size(); ++row) {
    const bool is_here = std::ranges::any_of(
        capabilities, [&](int capability) { return nccl_generation(capability) == row; });
    if (!is_here) continue;
    Constants of_gpus = Constants::shipped("nccl/" + std::string(names.at(row)), "nccl_generation");
    read_nccl_generation(of_gpus, constants.generations.at(row));
    of_gpus.finish();
  }
  return constants;
}

}  // namespace gradwire::config
