#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/importers/nccl_topo.hpp"

namespace gradwire {
namespace {

/// What a published XML has: counted by hand in the texts.
struct Expected {
  std::string file;
  std::string gpu;  ///< to give, "" where the file tells
  std::string model;
  int gpus = 0;
  int nics = 0;
  int sockets = 0;
  int switches = 0;
  int lanes = 0;  ///< NVLinks of a GPU
  std::string nic;
  double slot = 0;  ///< of gpu0, GB/s
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> all = {
      // The two ports of one card hang below a switch that stands for it.
      {"2x_rtx4090_epyc", "", "rtx4090", 2, 2, 2, 1, 0, "ib_edr", 24},
      // 2 of its 10 ports are hardware.
      {"4x_a6000_pcie_yccl", "", "a6000", 4, 2, 2, 0, 0, "eth_1g", 12},
      {"8x_rtx3090_fdr", "", "rtx3090", 8, 1, 2, 2, 0, "ib_fdr", 24},
      {"azure_ncv4", "", "a100-pcie-80gb", 4, 1, 4, 0, 0, "eth_100g", 24},
      {"azure_ndv2", "v100-sxm2-32gb", "v100-sxm2-32gb", 8, 1, 2, 0, 0, "", 12},
      {"azure_ndv4", "a100-sxm4-40gb", "a100-sxm4-40gb", 8, 8, 4, 4, 0, "", 24},
      {"azure_ndv5", "h100-sxm5-80gb", "h100-sxm5-80gb", 8, 8, 2, 8, 0, "", 48},
      {"h200_baremetal_numa0_part", "", "h200-sxm5-141gb", 2, 2, 1, 2, 18, "*", 48},
      {"h200_vm_part", "", "h200-sxm5-141gb", 1, 1, 1, 0, 18, "*", 24},
      {"ibm_gx3d_h100_vm", "", "h100-sxm5-80gb", 8, 8, 2, 8, 18, "*", 48},
      {"yccl_topo_h800", "", "h800", 8, 8, 2, 8, 8, "ib_ndr", 48},
      {"yccl_topo_l20", "", "l20", 16, 8, 2, 12, 0, "*", 24},
      {"yccl_topo_mod_pciedump", "", "a6000", 4, 2, 2, 0, 0, "eth_1g", 12},
  };
  return all;
}

ImportedNode import(const std::string& file, const NcclTopoOptions& options) {
  return import_nccl_topo(config::shipped_links(),
                          test::read_text(test::reference_matrices() / file), file, options);
}

NcclTopoOptions options(const std::string& gpu) {
  NcclTopoOptions result;
  result.name = "x";
  result.gpu = gpu;
  return result;
}

void check_devices(const NodeGraph& node, const Expected& expected) {
  REQUIRE(static_cast<int>(node.gpus().size()) == expected.gpus);
  REQUIRE(static_cast<int>(node.nics().size()) == expected.nics);
  CHECK(test::count(node, DeviceKind::numa) == expected.sockets);
  CHECK(test::count(node, DeviceKind::pcie_switch) == expected.switches);
  for (const DeviceId gpu : node.gpus()) {
    CHECK(node.device(gpu).model == expected.model);
    CHECK(test::lanes_of_gpu(node, gpu) == expected.lanes);
  }
  for (const DeviceId nic : node.nics()) {
    // "*": RoCE of a speed whose kind may be known or not.
    if (expected.nic != "*") CHECK(node.device(nic).model == expected.nic);
    if (expected.nic == "*") CHECK_FALSE(node.device(nic).model.empty());
  }
  for (const auto& edge : node.graph().out_edges(node.gpus()[0])) {
    const Link& link = node.graph()[edge];
    if (link.kind == LinkKind::pcie) CHECK(link.bandwidth.count() == Approx(expected.slot * 1e9));
  }
}

TEST_CASE("13 published XMLs are imported as counted by hand and ring over two machines",
          "[nccl_topo][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  REQUIRE(expectations().size() == 13);
  for (const Expected& expected : expectations()) {
    INFO(expected.file);
    const auto node = std::make_shared<const NodeGraph>(
        import("nccl_topo_" + expected.file + ".xml", options(expected.gpu)).node);
    check_devices(*node, expected);
    test::check_round_trip(*node);
    const PortSpec port{"port", "ib", BytesPerSecond{10e9}, Seconds{1e-6}};
    const Cluster cluster({node, node}, single_switch(2 * expected.nics, port));
    const Pattern pattern = plan_ring_all_reduce(cluster, packed_placement(cluster, expected.gpus));
    CHECK(pattern.channels > 0);
    CHECK(pattern.ranks == 2 * expected.gpus);
  }
}

TEST_CASE("a published graph file and an XML without a model are refused",
          "[nccl_topo][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  CHECK_THROWS_WITH(import("nccl_graph_azure_ncv4.xml", options("")),
                    "nccl_graph_azure_ncv4.xml:1:1: <graphs> is a file of NCCL's rings and trees "
                    "(NCCL_GRAPH_DUMP_FILE); expected its topology, <system> "
                    "(NCCL_TOPO_DUMP_FILE)");
  CHECK_THROWS_WITH(
      import("nccl_topo_azure_ndv2.xml", options("")),
      Catch::StartsWith("nccl_topo_azure_ndv2.xml:3:5: the GPU's model is not stated"));
}

TEST_CASE("the XML of an Azure NDv2 gets its NVLinks from a DGX-1V's matrix",
          "[nccl_topo][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  NcclTopoOptions with = options("v100-sxm2-32gb");
  with.matrix = read_smi_matrix(
      test::read_text(test::reference_matrices() / "dgx1v_like_dlperf_spaces.txt"), "m.txt");
  with.matrix_file = "m.txt";
  const NodeGraph node = import("nccl_topo_azure_ndv2.xml", with).node;
  for (const DeviceId gpu : node.gpus()) CHECK(test::lanes_of_gpu(node, gpu) == 6);
}

TEST_CASE("no published XML is without an expectation", "[nccl_topo][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  std::set<std::string> known = {"nccl_graph_azure_ncv4.xml"};
  for (const Expected& expected : expectations())
    known.insert("nccl_topo_" + expected.file + ".xml");
  for (const auto& entry : std::filesystem::directory_iterator(test::reference_matrices())) {
    if (entry.path().extension() == ".xml") {
      CHECK(known.count(entry.path().filename().string()) == 1);
    }
  }
}

}  // namespace
}  // namespace gradwire
