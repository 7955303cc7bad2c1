#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/network_cards.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/importers/smi_matrix.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire {
namespace {

/// What a published matrix shows: counted by hand in the texts.
struct Expected {
  std::string file;
  std::string gpu;
  int gpus = 0;
  int nics = 0;
  int sockets = 0;             ///< groups of devices that are SYS to each other
  std::map<int, int> nvlinks;  ///< lanes -> GPU pairs
  bool nvswitch = false;
};

const std::vector<Expected>& expectations() {
  static const std::vector<Expected> all = {
      {"dgx1v_like_dlperf_spaces.txt", "v100", 8, 1, 2, {{1, 8}, {2, 8}}},
      {"dgx1v_mp_pci_only.txt", "v100", 8, 4, 2, {}},
      {"dgx1v_msccl.txt", "v100", 8, 4, 2, {{1, 8}, {2, 8}}},
      {"dgx2_gpu_part_rebuilt.txt", "v100", 16, 0, 2, {{6, 120}}, true},
      {"dgx_a100.txt", "a100", 8, 12, 6, {{12, 28}}, true},
      {"dgx_h100_truncated.txt", "h100", 8, 12, 2, {{18, 28}}, true},
      {"hgx_h100_blank_affinity.txt", "h100", 8, 6, 1, {{18, 28}}, true},
      {"hgx_h100_nonic_spaces.txt", "h100", 8, 0, 2, {{18, 28}}, true},
      {"hgx_h200_onenuma_gpurows.txt", "h200", 8, 12, 1, {{18, 28}}, true},
      // GPU7's row is cut off: its place is not known, so it stands alone.
      {"hgx_h800_nv8_truncated.txt", "h800", 8, 9, 3, {{8, 28}}, true},
      {"old_soc_legend_k80.txt", "k80", 4, 1, 1, {}},
      {"pcie_2gpu_nv2.txt", "rtx2080ti", 2, 0, 1, {{2, 1}}},
      {"pcie_2gpu_phb.txt", "t4", 2, 0, 1, {}},
      {"pcie_2x_rtx3090_nv4.txt", "rtx3090", 2, 0, 1, {{4, 1}}},
      {"pcie_4x_l40.txt", "l40", 4, 2, 2, {}},
      {"pcie_6x_a100_bridge_pairs.txt", "a100", 6, 1, 2, {{12, 3}}},
      {"pcie_8x_rtx4090_allsys.txt", "rtx4090", 8, 2, 8, {}},
      {"pcie_8x_titanv.txt", "titan-v", 8, 0, 2, {}},
      {"polaris_4x_a100_nv4.txt", "a100", 4, 2, 4, {{4, 6}}},
      {"single_gpu_gb10.txt", "gb10", 1, 4, 1, {}},
      {"v100_dlperf_messy_tabs.txt", "v100", 8, 2, 2, {{1, 8}, {2, 8}}},
      {"v100_paddle_nolead_node.txt", "v100", 8, 1, 1, {{1, 8}, {2, 8}}},
  };
  return all;
}

NodeGraph import(const std::string& file, const std::string& gpu) {
  return import_smi_topo(config::shipped_links(),
                         test::read_text(test::reference_matrices() / file), file,
                         {.name = "x", .gpu = gpu, .nic = "ib_edr", .cpu = "skylake", .source = ""})
      .node;
}

/// Two of them ring: with their own NICs, or with one card in a slot where they have none.
void check_two_machines(const NodeGraph& node) {
  auto machine = std::make_shared<const NodeGraph>(node);
  if (node.nics().empty()) {
    machine = std::make_shared<const NodeGraph>(
        config::with_network_cards(node, 1, "eth_10g", static_cast<int>(node.gpus().size()))
            .value());
  }
  const PortSpec port{"port", "ib", BytesPerSecond{10e9}, Seconds{1e-6}};
  const int ports = 2 * static_cast<int>(machine->nics().size());
  const Cluster cluster({machine, machine}, single_switch(ports, port));
  const Pattern pattern = plan_ring_all_reduce(
      cluster, packed_placement(cluster, static_cast<int>(node.gpus().size())));
  CHECK(pattern.channels > 0);
  CHECK(pattern.ranks == 2 * static_cast<int>(node.gpus().size()));
}

TEST_CASE("22 published matrices are imported as counted by hand", "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  REQUIRE(expectations().size() == 22);
  for (const Expected& expected : expectations()) {
    INFO(expected.file);
    const NodeGraph node = import(expected.file, expected.gpu);
    CHECK(static_cast<int>(node.gpus().size()) == expected.gpus);
    CHECK(static_cast<int>(node.nics().size()) == expected.nics);
    CHECK(test::count(node, DeviceKind::numa) == expected.sockets);
    CHECK(test::count(node, DeviceKind::nvswitch) == (expected.nvswitch ? 1 : 0));
    std::map<int, int> nvlinks;
    for (const DeviceId a : node.gpus()) {
      for (const DeviceId b : node.gpus()) {
        if (a == b) continue;
        CHECK_FALSE(node.route(a, b).empty());
        if (a < b && node.nvlink_lanes(a, b) > 0) ++nvlinks[node.nvlink_lanes(a, b)];
      }
      for (const DeviceId nic : node.nics()) CHECK_FALSE(node.route(a, nic).empty());
    }
    CHECK(nvlinks == expected.nvlinks);
    test::check_round_trip(node);
    check_two_machines(node);
  }
}

TEST_CASE("a published matrix of H100 gets H100's ports and sockets", "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  const std::string file = "dgx_h100_truncated.txt";
  const NodeGraph node =
      import_smi_topo(config::shipped_links(), test::read_text(test::reference_matrices() / file),
                      file, {.name = "x", .gpu = "h100"})
          .node;
  CHECK(node.device(node.gpus()[0]).model == "h100-sxm5-80gb");
  CHECK(node.device(node.nics()[0]).model == "ib_ndr");  // DGX H100: ConnectX-7
  CHECK(node.device(node.find("numa0").value()).model == "sapphire_rapids");
}

TEST_CASE("doubled tabs do not hide the affinities of a published matrix", "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  const std::string file = "v100_dlperf_messy_tabs.txt";
  const SmiMatrix matrix =
      read_smi_matrix(test::read_text(test::reference_matrices() / file), file);
  CHECK(matrix.devices[3].cpu_affinity == "0-23,48-71");
  CHECK(matrix.devices[3].numa == 0);
  CHECK(matrix.devices[7].cpu_affinity == "24-47,72-95");
  CHECK(matrix.devices[7].numa == 1);
}

TEST_CASE("a matrix cut off too early and a corrupt one are refused", "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  CHECK_THROWS_WITH(import("dgx2_first_rows_only.txt", "v100"),
                    "dgx2_first_rows_only.txt:6:1: the matrix is cut off: no row of GPU5 or GPU6; "
                    "expected one row for each GPU");
  CHECK_THROWS_WITH(import("bad_corrupt_row.txt", "a100"),
                    "bad_corrupt_row.txt:2:19: cell 'PH0-115' of GPU0-NIC1; expected X, NV#, PIX, "
                    "PXB, PHB, NODE or SYS");
}

TEST_CASE("no published matrix is without an expectation", "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  std::set<std::string> known = {"SOURCES.txt", "dgx2_first_rows_only.txt", "bad_corrupt_row.txt"};
  for (const Expected& expected : expectations()) known.insert(expected.file);
  for (const auto& entry : std::filesystem::directory_iterator(test::reference_matrices())) {
    if (entry.path().extension() == ".txt") CHECK(known.count(entry.path().filename()) == 1);
  }
}

TEST_CASE("nodes that ship are what the importer makes of their published matrices",
          "[smi][reference]") {
  if (test::skipped_without(test::reference_matrices())) return;
  struct Made {
    std::string matrix;
    SmiTopoOptions options;
  };
  const auto made = [](const std::string& matrix, const std::string& name, const std::string& gpu,
                       const std::string& nic, const std::string& cpu,
                       const std::vector<std::string>& leave_out) {
    return Made{matrix, {name, gpu, nic, cpu, "", leave_out}};
  };
  const std::vector<Made> all = {
      made("dgx1v_msccl", "dgx1v", "v100-sxm2", "ib_edr", "broadwell", {}),
      made("dgx_a100", "dgx_a100", "a100-sxm4-40gb", "ib_hdr", "amd",
           {"mlx5_4", "mlx5_5", "mlx5_10", "mlx5_11"}),
      made("dgx_h100_truncated", "hgx_h100", "h100-sxm5-80gb", "ib_ndr", "sapphire_rapids",
           {"NIC1", "NIC2", "NIC7", "NIC8"}),
      made("hgx_h200_onenuma_gpurows", "hgx_h200", "h200-sxm5-141gb", "ib_ndr", "",
           {"NIC3", "NIC4", "NIC9", "NIC10"}),
      made("polaris_4x_a100_nv4", "polaris", "a100-sxm4-40gb", "roce_100g", "amd", {}),
      made("pcie_4x_l40", "pcie4_4x_l40", "l40", "roce_100g", "amd", {}),
  };
  for (Made one : all) {
    INFO(one.options.name);
    const auto file = test::source_dir() / "topologies" / "nodes" / (one.options.name + ".yaml");
    const NodeGraph shipped = config::read_node(config::load_yaml(file.string()));
    one.options.source = shipped.source;
    ImportedNode node = import_smi_topo(
        config::shipped_links(),
        test::read_text(test::reference_matrices() / (one.matrix + ".txt")), "m.txt", one.options);
    node.node.host_memory = shipped.host_memory;  // added by hand: no matrix tells it
    node.node.ports_vary = shipped.ports_vary;
    CHECK(test::read_text(file) == config::write_node(node.node, node.assumptions));
  }
}

}  // namespace
}  // namespace gradwire
