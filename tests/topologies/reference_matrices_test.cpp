#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/config/node_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
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

int count(const NodeGraph& node, DeviceKind kind) {
  const auto devices = boost::make_iterator_range(boost::vertices(node.graph()));
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [&](DeviceId id) { return node.device(id).kind == kind; }));
}

NodeGraph import(const std::string& file, const std::string& gpu) {
  return import_smi_topo(test::read_text(test::reference_matrices() / file), file,
                         {.name = "x", .gpu = gpu, .nic = "ib_edr", .cpu = "skylake", .source = ""})
      .node;
}

bool absent() {
  if (std::filesystem::exists(test::reference_matrices())) return false;
  WARN("skipped: " << test::reference_matrices() << " is absent");
  return true;
}

TEST_CASE("22 published matrices are imported as counted by hand", "[smi][reference]") {
  if (absent()) return;
  REQUIRE(expectations().size() == 22);
  for (const Expected& expected : expectations()) {
    INFO(expected.file);
    const NodeGraph node = import(expected.file, expected.gpu);
    CHECK(static_cast<int>(node.gpus().size()) == expected.gpus);
    CHECK(static_cast<int>(node.nics().size()) == expected.nics);
    CHECK(count(node, DeviceKind::numa) == expected.sockets);
    CHECK(count(node, DeviceKind::nvswitch) == (expected.nvswitch ? 1 : 0));
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
  }
}

TEST_CASE("a matrix cut off too early and a corrupt one are refused", "[smi][reference]") {
  if (absent()) return;
  CHECK_THROWS_WITH(import("dgx2_first_rows_only.txt", "v100"),
                    "dgx2_first_rows_only.txt:6:1: the matrix is cut off: no row of GPU5 or GPU6; "
                    "expected one row for each GPU");
  CHECK_THROWS_WITH(import("bad_corrupt_row.txt", "a100"),
                    "bad_corrupt_row.txt:2:19: cell 'PH0-115' of GPU0-NIC1; expected X, NV#, PIX, "
                    "PXB, PHB, NODE or SYS");
}

TEST_CASE("no published matrix is without an expectation", "[smi][reference]") {
  if (absent()) return;
  std::set<std::string> known = {"SOURCES.txt", "dgx2_first_rows_only.txt", "bad_corrupt_row.txt"};
  for (const Expected& expected : expectations()) known.insert(expected.file);
  for (const auto& entry : std::filesystem::directory_iterator(test::reference_matrices())) {
    if (entry.path().extension() == ".txt") CHECK(known.count(entry.path().filename()) == 1);
  }
}

TEST_CASE("the shipped dgx1v is what the importer makes of its published matrix",
          "[smi][reference]") {
  if (absent()) return;
  const std::string file = (test::source_dir() / "topologies" / "nodes" / "dgx1v.yaml").string();
  const NodeGraph shipped = config::read_node(config::load_yaml(file));
  const auto made =
      import_smi_topo(test::read_text(test::reference_matrices() / "dgx1v_msccl.txt"), "m.txt",
                      {.name = "dgx1v",
                       .gpu = "v100-sxm2",
                       .nic = "ib_edr",
                       .cpu = "broadwell",
                       .source = shipped.source});
  CHECK(test::read_text(file) == config::write_node(made.node, made.assumptions));
}

}  // namespace
}  // namespace gradwire
