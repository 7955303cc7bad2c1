#include "topologies/links.hpp"

#include <algorithm>

#include "topologies/node_links.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): operators only

/// One way between GPU memories through two EDR ports and a switch: 1.7-1.8 us for small messages
/// (linux-rdma/perftest, pull request 98).
constexpr Seconds edr_gpu_to_gpu{1.75e-6};
/// What is left of it for a port, half a switch included, once the PCIe on both sides (GPU, switch,
/// NIC) is taken off. Other InfiniBand generations: taken as the same, no figure found.
constexpr Seconds infiniband_port = 0.5 * edr_gpu_to_gpu - (gpu_pcie_latency + pcie_hop_latency);
/// An Ethernet switch adds at most 0.3 us where an InfiniBand one adds 0.1 us (wwt.com, one ASIC,
/// cut-through: 0.1-0.3 us); half of the difference belongs to each port.
constexpr Seconds roce_port = infiniband_port + Seconds{0.1e-6};
/// Half the application-to-application time over TCP: 20 us at 10 Gbit/s (Hurwitz and Feng, Hot
/// Interconnects 2003), 23 us at 1 Gbit/s (NetPIPE, RTL8168B). The kernel's share dominates, so
/// faster cards are taken as 10 Gbit/s.
constexpr Seconds tcp_port = 10_us;
constexpr Seconds tcp_port_1g{11.5e-6};

/// Half of the 24.35 us that fi_pingpong takes one way for 1 KiB over EFA between the memories of
/// two instances (ComputeCanada/puppet-magic_castle, pull request 331, the least of its rows).
constexpr Seconds efa_port{12.2e-6};

/// TCP payload in an Ethernet frame of 1500 bytes with time stamps, to what the wire carries
/// (14 header, 4 check sum, 8 preamble, 12 gap): 1448 / 1538 = 0.9415.
constexpr double tcp_frame_efficiency = 1448.0 / 1538.0;
/// EDR's measured payload, 96.6 of 100 Gbit/s; kept for FDR, whose own figure was not found.
constexpr double infiniband_efficiency = 0.966;
/// FDR carries 64 data bits in 66: 56.25 Gbit/s on the wire.
constexpr double fdr_data_rate = 56.25 * 64 / 66;

PortKind ethernet(std::string name, double gbit, Seconds latency, std::string source) {
  const BytesPerSecond nominal = gbit * 1_Gbps;
  return {{std::move(name), "tcp", tcp_frame_efficiency * nominal, latency},
          nominal,
          std::move(source)};
}

std::vector<PortKind> make_kinds() {
  const std::string framing = "TCP over frames of 1500 bytes: 94.15 % of the line rate";
  return {
      ethernet("eth_1g", 1, tcp_port_1g, framing),
      ethernet("eth_10g", 10, tcp_port,
               framing + "; ddl-benchmarks' rings reach 1.15-1.22 GB/s, 92-98 %"),
      ethernet("eth_25g", 25, tcp_port, framing + " (23.5 Gbit/s)"),
      ethernet("eth_40g", 40, tcp_port, framing + "; takes several sockets"),
      {{"eth_100g", "tcp", 60_Gbps, tcp_port},
       100_Gbps,
       "TCP reaches 35-90 Gbit/s depending on the number of sockets; the middle, not measured "
       "here"},
      {{"roce_100g", "roce", BytesPerSecond{97.6e9 / 8}, roce_port},
       100_Gbps,
       "97.6 Gbit/s at an MTU of 4096 (PMC7842203)"},
      {{"ib_fdr", "ib", (infiniband_efficiency * fdr_data_rate) * 1_Gbps, infiniband_port},
       56_Gbps,
       "64/66 of 56.25 Gbit/s, at EDR's measured efficiency"},
      {{"ib_edr", "ib", BytesPerSecond{12.07e9}, infiniband_port},
       100_Gbps,
       "ib_write_bw 96.6 Gbit/s; 1.7-1.8 us one way between GPUs (perftest pull request 98)"},
      {{"ib_hdr", "ib", 23_GBps, infiniband_port},
       200_Gbps,
       "ib_write_bw 23.0 GB/s between hosts (perftest issue 241)"},
      {{"ib_ndr", "ib", 47_GBps, infiniband_port},
       400_Gbps,
       "46-48 GB/s per NIC in all-reduce (nccl-tests issue 290)"},
      {{"efa_100g", "efa", 80_Gbps, efa_port},
       100_Gbps,
       "80 Gbit/s between two p3dn (NVIDIA/nccl issue 235; 50-60 among 8 to 32); 24 us for 1 KiB "
       "one way, fi_pingpong between hosts (ComputeCanada/puppet-magic_castle pull request 331)"},
      {{"ipoib_100g", "tcp", BytesPerSecond{2.3e9}, tcp_port},
       100_Gbps,
       "ddl-benchmarks over IPoIB: rings of 8 to 32 GPUs reach 1.9-2.7 GB/s; the mean"},
  };
}

}  // namespace

std::span<const PortKind> port_kinds() {
  static const std::vector<PortKind> kinds = make_kinds();
  return kinds;
}

const PortKind* find_port_kind(std::string_view name) {
  const auto kinds = port_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const PortKind& kind) { return kind.port.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

std::vector<std::string> port_kind_names() {
  std::vector<std::string> names;
  for (const PortKind& kind : port_kinds()) names.push_back(kind.port.name);
  return names;
}

}  // namespace gradwire
