#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/network_cards.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/importers/nccl_topo.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire {
namespace {

std::filesystem::path file_of(const std::string& name) {
  return test::source_dir() / "topologies" / "nodes" / (name + ".yaml");
}
NodeGraph shipped(const std::string& name) {
  return config::read_node(config::load_yaml(file_of(name).string()));
}

/// What the maker's data sheet says of a machine.
struct Sheet {
  std::string name;
  std::string gpu;
  int gpus = 0;
  int lanes = 0;  ///< NVLinks of a GPU
  int nvswitch = 0;
  std::string nic;
  int nics = 0;
  double slot = 0;  ///< payload of a GPU's PCIe slot, GB/s
};

const std::vector<Sheet>& sheets() {
  static const std::vector<Sheet> all = {
      {"a3_ultragpu_8g", "h200-sxm5-141gb", 8, 18, 1, "roce_400g", 8, 48},
      {"a4_highgpu_8g", "b200", 8, 18, 1, "roce_400g", 8, 48},
      {"alps", "gh200-96gb", 4, 18, 0, "slingshot_11", 4, 48},
      {"dgx1_p100", "p100-sxm2-16gb", 8, 4, 0, "ib_edr", 4, 12},
      {"dgx1v", "v100-sxm2", 8, 6, 0, "ib_edr", 4, 12},
      {"dgx2", "v100-sxm3-32gb", 16, 6, 1, "ib_edr", 8, 12},
      {"dgx_a100", "a100-sxm4-40gb", 8, 12, 1, "ib_hdr", 8, 24},
      {"dgx_b200", "b200", 8, 18, 1, "ib_ndr", 8, 48},
      {"dgx_h100", "h100-sxm5-80gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"dgx_h200", "h200-sxm5-141gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"g4dn_12xlarge", "t4", 4, 0, 0, "", 0, 12},
      {"g6e_48xlarge", "l40s", 8, 0, 0, "efa_100g", 4, 24},
      {"gb200_nvl72", "gb200", 72, 18, 1, "ib_ndr", 72, 48},
      {"gb200_tray", "gb200", 4, 18, 1, "ib_ndr", 4, 48},
      {"gb300_nvl72", "gb300", 72, 18, 1, "ib_xdr", 72, 96},
      {"gb300_tray", "gb300", 4, 18, 1, "ib_xdr", 4, 96},
      {"hgx_b200", "b200", 8, 18, 1, "ib_ndr", 8, 48},
      {"hgx_h100", "h100-sxm5-80gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"hgx_h100_4gpu", "h100-sxm5-80gb", 4, 18, 0, "ib_ndr", 4, 48},
      {"hgx_h20", "h20", 8, 18, 1, "ib_ndr", 8, 48},
      {"hgx_h200", "h200-sxm5-141gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"host_1gpu", "rtx2080ti", 1, 0, 0, "eth_10g", 1, 12},
      {"host_1x_k80", "k80", 1, 0, 0, "eth_10g", 1, 12},
      {"juwels_booster", "a100-sxm4-40gb", 4, 12, 0, "ib_hdr", 4, 24},
      {"mi250_8gpu", "mi250", 8, 7, 0, "ib_hdr", 4, 24},
      {"mi300x_8gpu", "mi300x", 8, 7, 0, "ib_ndr", 8, 48},
      {"nd_a100_v4", "a100-sxm4-40gb", 8, 12, 1, "ib_hdr", 8, 24},
      {"nd_h100_v5", "h100-sxm5-80gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"nd_h200_v5", "h200-sxm5-141gb", 8, 18, 1, "ib_ndr", 8, 48},
      {"ndm_a100_v4", "a100-sxm4-80gb", 8, 12, 1, "ib_hdr", 8, 24},
      {"ndv2", "v100-sxm2-32gb", 8, 6, 0, "ib_edr", 1, 12},
      {"p3_16xlarge", "v100-sxm2-16gb", 8, 6, 0, "ena_25g", 1, 12},
      {"p3dn", "v100-sxm2-32gb", 8, 6, 0, "ena_100g", 1, 12},
      {"p4d", "a100-sxm4-40gb", 8, 12, 1, "efa_p4d", 4, 12},
      {"p4de", "a100-sxm4-80gb", 8, 12, 1, "efa_p4d", 4, 12},
      {"p5", "h100-sxm5-80gb", 8, 18, 1, "efa_100g", 32, 48},
      {"p5e", "h200-sxm5-141gb", 8, 18, 1, "efa_100g", 32, 48},
      {"pcie3_4x_2080ti", "rtx2080ti", 4, 0, 0, "eth_10g", 1, 12},
      {"pcie3_4x_p100", "p100-pcie-16gb", 4, 0, 0, "eth_25g", 1, 12},
      {"pcie3_4x_v100", "v100-pcie-32gb", 4, 0, 0, "", 0, 12},
      {"pcie3_8x_2080ti", "rtx2080ti", 8, 0, 0, "eth_25g", 1, 12},
      {"pcie3_8x_k80", "k80", 8, 0, 0, "eth_10g", 1, 12},
      {"pcie3_8x_v100", "v100-pcie-16gb", 8, 0, 0, "roce_100g", 1, 12},
      {"pcie4_2x_rtx3090", "rtx3090", 2, 4, 0, "", 0, 24},
      {"pcie4_4x_l40", "l40", 4, 0, 0, "roce_100g", 2, 24},
      {"pcie4_8x_rtx4090", "rtx4090", 8, 0, 0, "", 0, 24},
      {"pcie5_8x_rtx5090", "rtx5090", 8, 0, 0, "", 0, 48},
      {"pcie4_8x_rtx3090", "rtx3090", 8, 0, 0, "ib_fdr", 1, 24},
      {"perlmutter", "a100-sxm4-40gb", 4, 12, 0, "slingshot_11", 4, 24},
      {"polaris", "a100-sxm4-40gb", 4, 12, 0, "roce_100g", 2, 24},
  };
  return all;
}

TEST_CASE("shipped nodes have the devices and links of their data sheets", "[nodes]") {
  for (const Sheet& sheet : sheets()) {
    INFO(sheet.name);
    const NodeGraph node = shipped(sheet.name);
    CHECK(node.name == sheet.name);
    CHECK_FALSE(node.source.empty());
    REQUIRE(static_cast<int>(node.gpus().size()) == sheet.gpus);
    REQUIRE(static_cast<int>(node.nics().size()) == sheet.nics);
    CHECK(test::count(node, DeviceKind::nvswitch) == sheet.nvswitch);
    for (const DeviceId nic : node.nics()) CHECK(node.device(nic).model == sheet.nic);
    for (const DeviceId gpu : node.gpus()) {
      CHECK(node.device(gpu).model == sheet.gpu);
      CHECK(test::lanes_of_gpu(node, gpu) == sheet.lanes);
      for (const auto& edge : node.graph().out_edges(gpu)) {
        const Link& link = node.graph()[edge];
        if (link.kind == LinkKind::pcie) CHECK(link.bandwidth.count() == Approx(sheet.slot * 1e9));
      }
    }
    test::check_round_trip(node);
  }
}

TEST_CASE("ports for each GPU of a rack that takes part are of its tray", "[nodes]") {
  const NodeGraph rack = shipped("gb300_nvl72");
  const auto switches = [&](int cards, int gpus) {
    const NodeGraph node = config::with_network_cards(rack, cards, "roce_400g", gpus).value();
    std::multiset<std::string> of_cards;
    for (const DeviceId nic : node.nics()) {
      for (const auto& edge : node.graph().out_edges(nic)) {
        of_cards.insert(node.device(edge.target).name);
      }
    }
    return of_cards;
  };
  using Names = std::multiset<std::string>;
  CHECK(switches(4, 4) == Names{"switch0", "switch1", "switch2", "switch3"});
  CHECK(switches(8, 4) == Names{"switch0", "switch0", "switch1", "switch1", "switch2", "switch2",
                                "switch3", "switch3"});
  CHECK(switches(2, 4) == Names{"switch0", "switch36"});  // fewer: spread over all 72 slots
}

TEST_CASE("a machine with other ports keeps what is known of its host", "[nodes]") {
  NodeGraph node = shipped("dgx2");
  REQUIRE(node.host_memory);
  node.peer_to_peer = PeerToPeer::none;
  node.staged_bandwidth = BytesPerSecond{5e9};
  const NodeGraph changed = config::with_network_cards(node, 2, "ib_edr", 16).value();
  CHECK(changed.host_memory.value().bandwidth == node.host_memory->bandwidth);
  CHECK(changed.peer_to_peer == PeerToPeer::none);
  CHECK(changed.staged_bandwidth.value() == BytesPerSecond{5e9});
}

TEST_CASE("no shipped node is without its data sheet", "[nodes]") {
  std::set<std::string> known;
  for (const Sheet& sheet : sheets()) known.insert(sheet.name);
  for (const auto& entry : std::filesystem::directory_iterator(file_of("x").parent_path())) {
    CHECK(known.count(entry.path().stem().string()) == 1);
  }
}

TEST_CASE("nodes made from our fixtures are what the importers make of them", "[nodes]") {
  const auto from_matrix = [](const std::string& name, const std::string& gpu,
                              const std::string& nic, const std::string& cpu = "skylake",
                              const std::string& machine = "") {
    const std::string file = (machine.empty() ? name : machine) + ".txt";
    return import_smi_topo(config::shipped_links(), test::read_text(test::fixture(file)), file,
                           {.name = name,
                            .gpu = gpu,
                            .nic = nic,
                            .cpu = cpu,
                            .source = shipped(name).source,
                            .leave_out = {}});
  };
  // What a matrix does not tell is added by hand.
  const auto check = [](const std::string& name, ImportedNode made) {
    INFO(name);
    made.node.host_memory = shipped(name).host_memory;
    made.node.ports_vary = shipped(name).ports_vary;
    CHECK(test::read_text(file_of(name)) == config::write_node(made.node, made.assumptions));
  };
  const auto check_like = [](const std::string& name, ImportedNode made) {
    INFO(name);
    made.node.host_memory = shipped(name).host_memory;
    CHECK(config::write_node(shipped(name)) == config::write_node(made.node));
  };
  check("dgx2", from_matrix("dgx2", "v100-sxm3-32gb", "ib_edr"));
  check("p3dn", from_matrix("p3dn", "v100-sxm2-32gb", "ena_100g"));
  check_like("p3_16xlarge",
             from_matrix("p3_16xlarge", "v100-sxm2-16gb", "ena_25g", "skylake", "p3dn"));
  check_like("ndv2", from_matrix("ndv2", "v100-sxm2-32gb", "ib_edr", "skylake", "p3dn"));
  check("perlmutter", from_matrix("perlmutter", "a100-sxm4-40gb", "slingshot_11", "amd"));
  check("juwels_booster", from_matrix("juwels_booster", "a100-sxm4-40gb", "ib_hdr", "amd"));
  check("alps", from_matrix("alps", "gh200-96gb", "slingshot_11", "arm"));
  check("hgx_h100_4gpu",
        from_matrix("hgx_h100_4gpu", "h100-sxm5-80gb", "ib_ndr", "sapphire_rapids"));
  check("host_1gpu", from_matrix("host_1gpu", "rtx2080ti", "eth_10g"));
  check("pcie3_4x_v100", from_matrix("pcie3_4x_v100", "v100-pcie-32gb", ""));
  check("pcie3_4x_2080ti", from_matrix("pcie3_4x_2080ti", "rtx2080ti", "eth_10g"));
  check("host_1x_k80", from_matrix("host_1x_k80", "k80", "eth_10g", "broadwell"));
  check("pcie3_8x_k80", from_matrix("pcie3_8x_k80", "k80", "eth_10g", "broadwell"));
  check("g4dn_12xlarge", from_matrix("g4dn_12xlarge", "t4", ""));
  check("pcie3_4x_p100", from_matrix("pcie3_4x_p100", "p100-pcie-16gb", "eth_25g", "broadwell"));
  check("pcie3_8x_v100", from_matrix("pcie3_8x_v100", "v100-pcie-16gb", "roce_100g"));
  check("pcie3_8x_2080ti", from_matrix("pcie3_8x_2080ti", "rtx2080ti", "eth_25g"));
  check("pcie4_2x_rtx3090", from_matrix("pcie4_2x_rtx3090", "rtx3090", "", "amd"));
  check("dgx1_p100", from_matrix("dgx1_p100", "p100-sxm2-16gb", "ib_edr", "broadwell"));
  const auto from_xml = [](const std::string& name, const std::string& gpu,
                           const std::string& machine) {
    NcclTopoOptions options;
    options.name = name;
    options.gpu = gpu;
    options.nic = machine == "p4d" ? "efa_p4d" : "efa_100g";
    options.source = shipped(name).source;
    return import_nccl_topo(config::shipped_links(),
                            test::read_text(test::fixture(machine + ".xml")), machine, options);
  };
  check("p4d", from_xml("p4d", "", "p4d"));
  check_like("p4de", from_xml("p4de", "a100-sxm4-80gb", "p4d"));
  check("p5", from_xml("p5", "", "p5"));
}

/// Every port of two such machines is used by as many rings in each direction as any other.
void check_ports(const std::string& name, int rings) {
  INFO(name);
  const auto node = std::make_shared<const NodeGraph>(shipped(name));
  const int nics = static_cast<int>(node->nics().size());
  const PortSpec port{"port", "ib", BytesPerSecond{10e9}, Seconds{1e-6}};
  const Cluster cluster({node, node}, single_switch(2 * nics, port));
  const Pattern pattern = plan_ring_all_reduce(
      cluster, packed_placement(cluster, static_cast<int>(node->gpus().size())));
  CHECK(pattern.channels == rings);
  std::map<std::string, int> use;
  for (const PatternFlow& flow : pattern.phases.at(0).flows) {
    for (std::uint32_t i = 0; i < flow.path_size; ++i) {
      ++use[cluster.link_name(pattern.path_links[flow.path_begin + i])];
    }
  }
  for (int nic = 0; nic < nics; ++nic) {
    const std::string name_of = "node1.nic" + std::to_string(nic);
    CHECK(use[name_of + ".up"] == 1);
    CHECK(use[name_of + ".down"] == 1);
  }
  // NVLink brings the bytes to a GPU beside the port: none crosses a processor.
  for (const auto& [link, count] : use) CHECK(link.find("bridge") == std::string::npos);
  // What enters and leaves a GPU for the network shares its slot with no other GPU's.
  const int rings_per_gpu = std::max(1, nics / static_cast<int>(node->gpus().size()));
  for (const auto& [link, count] : use) {
    const bool is_slot =
        link.find("gpu") != std::string::npos &&
        (link.find("->switch") != std::string::npos || link.find("switch") < link.find("->gpu")) &&
        link.find("nvswitch") == std::string::npos;
    INFO(link);
    if (is_slot) CHECK(count <= rings_per_gpu);
  }
}

TEST_CASE("rings of two machines use every port, and spread over the GPUs beside it", "[nodes]") {
  check_ports("dgx_a100", 8);
  check_ports("dgx2", 8);
  check_ports("hgx_h100", 8);
  check_ports("hgx_h200", 8);
  check_ports("p4d", 4);
  check_ports("p5", 32);
}

}  // namespace
}  // namespace gradwire
