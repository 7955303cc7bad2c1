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
/// Interconnects 2003), 23 us at 1 Gbit/s (NetPIPE, RTL8168B). Cable and switch are taken as
/// RoCE's; the rest is the kernel's, so faster cards are taken as 10 Gbit/s.
constexpr Seconds tcp_end = 10_us;
constexpr Seconds tcp_end_1g{11.5e-6};
/// One TCP connection "does not fill" more than about 25 Gbit/s (BytePS, docs/best-practice.md).
constexpr BytesPerSecond tcp_connection = 25_Gbps;

/// Half of the 24.35 us that fi_pingpong takes one way for 1 KiB over EFA between the memories of
/// two instances (ComputeCanada/puppet-magic_castle, pull request 331, the least of its rows).
constexpr Seconds efa_port{12.2e-6};
/// Where the port writes into the memory of a GPU before Hopper, the plug-in flushes each message
/// by a read through the port (aws/aws-ofi-nccl issue 75, pull request 314). Fitted on all-reduces
/// of 8 B to 1 KiB on two p4d and two p4de: 160 to 180 us, by 163 and 179 with 18 and 22 us.
constexpr Seconds efa_flushed_port{20e-6};

/// A message through AWS's plug-in and libfabric's cxi that comes before its receive: the provider
/// copies by way of the host, it seems. Median of seven rows: all-gathers of 512 KiB to 32 MiB on 8
/// machines of Polaris, NCCL 2.18 (argonne-lcf/alcf-nccl-tests, env 4), over 31 steps of 2 messages
/// a port up to 4 MiB and 4 above: 9.6 to 11.3 us. Its README later calls FI_CXI_RDZV_GET_MIN = 0
/// and a longer FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD critical; no table of a machine so tuned is
/// known.
constexpr Seconds slingshot_late_message{10.7e-6};

/// NCCL on AWS: 2 threads of 8 sockets (src/transport/net_socket.cc, vendor 0x1d0f).
constexpr int ena_connections = 16;
/// Single-flow traffic within a cluster placement group (Amazon EC2 user guide).
constexpr BytesPerSecond ena_placed_flow = 10_Gbps;
/// Outside of one (the same page).
constexpr BytesPerSecond ena_apart_flow = 5_Gbps;

/// TCP payload in an Ethernet frame of 1500 bytes with time stamps, to what the wire carries
/// (14 header, 4 check sum, 8 preamble, 12 gap): 1448 / 1538 = 0.9415.
constexpr double tcp_frame_efficiency = 1448.0 / 1538.0;
/// EDR's measured payload, 96.6 of 100 Gbit/s; kept for FDR, whose own figure was not found.
constexpr double infiniband_efficiency = 0.966;
/// Measured of 100 Gbit/s at an MTU of 4096 (PMC7842203).
constexpr double roce_efficiency = 0.976;
/// FDR carries 64 data bits in 66: 56.25 Gbit/s on the wire.
constexpr double fdr_data_rate = 56.25 * 64 / 66;

/// A port that the kernel's TCP drives: it cannot reach GPU memory.
/// @param end  half the time of a small message from application to application.
PortSpec tcp_port(std::string name, BytesPerSecond payload, Seconds end) {
  return {.name = std::move(name),
          .kind = "tcp",
          .bandwidth = payload,
          .latency = roce_port,
          .message_overhead = end - roce_port,
          .gpudirect = false};
}

/// Ethernet, of which one connection, and so one thread of NCCL, carries so much at most.
PortSpec ethernet_port(std::string name, BytesPerSecond payload, Seconds end = tcp_end) {
  PortSpec port = tcp_port(std::move(name), payload, end);
  port.connection_bandwidth = tcp_connection;
  return port;
}

/// Amazon's virtual adapter: NCCL opens more connections through it.
PortSpec ena_port(std::string name, BytesPerSecond payload, BytesPerSecond flow) {
  PortSpec port = tcp_port(std::move(name), payload, tcp_end);
  port.connections = ena_connections;
  port.connection_bandwidth = flow;
  return port;
}

PortSpec rdma_port(std::string name, std::string kind, BytesPerSecond payload, Seconds latency) {
  return {
      .name = std::move(name), .kind = std::move(kind), .bandwidth = payload, .latency = latency};
}

PortSpec slingshot_port(std::string name, BytesPerSecond payload) {
  PortSpec port = rdma_port(std::move(name), "slingshot", payload, infiniband_port);
  port.late_message = slingshot_late_message;
  return port;
}

BytesPerSecond tcp_payload(double gbit) {
  return (tcp_frame_efficiency * gbit) * 1_Gbps;
}

std::vector<PortKind> make_kinds() {
  const std::string framing = "TCP over frames of 1500 bytes: 94.15 % of the line rate";
  const std::string connection =
      "; one connection carries 25 Gbit/s at most (BytePS, docs/best-practice.md)";
  const std::string edr_share = "EDR's measured share of the data rate, assumed to hold here";
  return {
      {ethernet_port("eth_1g", tcp_payload(1), tcp_end_1g), 1_Gbps, framing + connection},
      {ethernet_port("eth_10g", tcp_payload(10)), 10_Gbps,
       framing + "; ddl-benchmarks' rings reach 1.15-1.22 GB/s, 92-98 %" + connection},
      {ethernet_port("eth_25g", tcp_payload(25)), 25_Gbps, framing + " (23.5 Gbit/s)" + connection},
      {ethernet_port("eth_40g", tcp_payload(40)), 40_Gbps, framing + connection},
      {ethernet_port("eth_100g", 60_Gbps), 100_Gbps,
       "TCP reaches 35-90 Gbit/s depending on the number of sockets; the middle, not measured "
       "here" +
           connection},
      {rdma_port("roce_100g", "roce", (roce_efficiency * 100.0) * 1_Gbps, roce_port), 100_Gbps,
       "97.6 Gbit/s at an MTU of 4096 (PMC7842203)"},
      {rdma_port("ib_fdr", "ib", (infiniband_efficiency * fdr_data_rate) * 1_Gbps, infiniband_port),
       56_Gbps, "64/66 of 56.25 Gbit/s; " + edr_share},
      {rdma_port("ib_edr", "ib", BytesPerSecond{12.07e9}, infiniband_port), 100_Gbps,
       "ib_write_bw 96.6 Gbit/s; 1.7-1.8 us one way between GPUs (perftest pull request 98)"},
      {rdma_port("ib_hdr", "ib", 23_GBps, infiniband_port), 200_Gbps,
       "ib_write_bw 23.0 GB/s between hosts (perftest issue 241)"},
      {rdma_port("ib_ndr", "ib", 47_GBps, infiniband_port), 400_Gbps,
       "46-48 GB/s per NIC in all-reduce (nccl-tests issue 290)"},
      {rdma_port("efa_100g", "efa", 80_Gbps, efa_port), 100_Gbps,
       "80 Gbit/s between two p3dn (NVIDIA/nccl issue 235; 50-60 among 8 to 32); 24 us for 1 KiB "
       "one way, fi_pingpong between hosts (ComputeCanada/puppet-magic_castle pull request 331)"},
      {rdma_port("efa_p4d", "efa", 91_Gbps, efa_flushed_port), 100_Gbps,
       "EFA with GPUDirect: all-reduces of 1 GiB on two p4d and two p4de reach 40.6 and 41.0 GB/s "
       "(AWS Deep Learning AMI guide; aws-samples/awsome-distributed-training), more than 80 "
       "Gbit/s a port let through; fitted on the two"},
      {ena_port("ena_25g", tcp_payload(25), ena_placed_flow), 25_Gbps,
       framing + "; connections as of ena_100g"},
      {ena_port("ena_25g_apart", tcp_payload(25), ena_apart_flow), 25_Gbps,
       framing +
           "; 16 connections, each up to 5 Gbit/s: machines that are not in one cluster placement "
           "group (Amazon EC2 user guide)"},
      {ena_port("ena_100g", BytesPerSecond{4.9e9}, ena_placed_flow), 100_Gbps,
       "NCCL over TCP between two p3dn: 4.7 GB/s with one GPU each (NVIDIA/nccl issue 398), 41 "
       "Gbit/s with eight (issue 209); their mean. 16 connections, as NCCL opens there "
       "(src/transport/net_socket.cc), each up to 10 Gbit/s (Amazon EC2 user guide, instance "
       "network bandwidth)"},
      {tcp_port("ipoib_100g", BytesPerSecond{2.3e9}, tcp_end), 100_Gbps,
       "ddl-benchmarks over IPoIB: rings of 8 to 32 GPUs reach 1.9-2.7 GB/s; the mean"},
      {rdma_port("ib_xdr", "ib", (infiniband_efficiency * 800.0) * 1_Gbps, infiniband_port),
       800_Gbps, edr_share},
      {rdma_port("roce_200g", "roce", (roce_efficiency * 200.0) * 1_Gbps, roce_port), 200_Gbps,
       "the share of 100 Gbit/s (97.6 %, PMC7842203), assumed to hold here"},
      {rdma_port("roce_400g", "roce", (roce_efficiency * 400.0) * 1_Gbps, roce_port), 400_Gbps,
       "the share of 100 Gbit/s (97.6 %, PMC7842203), assumed to hold here"},
      {slingshot_port("slingshot_11", BytesPerSecond{24.2e9}), 200_Gbps,
       "OSU MPI_Get between two nodes, 24.2 of 25 GB/s from 256 KiB on (hpc-ai-envs, "
       "examples/osu-benchmark/README.md, 13d5db39); latency: InfiniBand's, assumed"},
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
