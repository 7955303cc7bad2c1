#include "topologies/importers/smi_topo.hpp"

#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"

namespace gradwire {
namespace {

using literals::operator""_GBps;

SmiTopoOptions options(const std::string& gpu = "v100-sxm2-32gb") {
  return {.name = "box", .gpu = gpu, .nic = "ib_edr", .cpu = "broadwell", .source = "a test"};
}

using test::count;
using test::way;

TEST_CASE("a hybrid cube mesh becomes two sockets with two switches each", "[smi]") {
  const NodeGraph node =
      import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt", options()).node;
  CHECK(node.name == "box");
  CHECK(node.gpus().size() == 8);
  CHECK(node.nics().size() == 4);
  CHECK(count(node, DeviceKind::numa) == 2);
  CHECK(count(node, DeviceKind::host_bridge) == 2);
  CHECK(count(node, DeviceKind::pcie_switch) == 4);
  CHECK(count(node, DeviceKind::nvswitch) == 0);
  CHECK(node.device(node.gpus()[6]).numa == 1);
  CHECK(node.device(node.nics()[2]).name == "mlx5_2");
  CHECK(node.device(node.nics()[2]).model == "ib_edr");

  // 2 x 22.5 GB/s and 1 x 22.5 GB/s (vTrain's V100 table), 0.6 us (NCCL's LL hop).
  const auto direct = node.route(node.gpus()[0], node.gpus()[1]);
  CHECK(node.bottleneck(direct).count() == Approx(45e9));
  CHECK(node.bottleneck(node.route(node.gpus()[0], node.gpus()[2])).count() == Approx(22.5e9));
  CHECK(node.latency(direct).count() == Approx(0.6e-6));
  // No NVLink of their own: by the GPU that has two lanes to both.
  CHECK(way(node, "gpu0", "gpu5") == std::vector<std::string>{"gpu0->gpu1", "gpu1->gpu5"});
  CHECK(way(node, "gpu0", "mlx5_2") ==
        std::vector<std::string>{"gpu0->switch0", "switch0->bridge0", "bridge0->numa0",
                                 "numa0->numa1", "numa1->bridge1", "bridge1->switch2",
                                 "switch2->mlx5_2"});
  // Broadwell's QPI, 6 GB/s. 0.45 + 5 x 0.15 + 0.06 us.
  const auto across = node.route(node.gpus()[0], node.nics()[2]);
  CHECK(node.bottleneck(across) == 6_GBps);
  CHECK(node.latency(across).count() == Approx(1.26e-6));
  for (int gpu = 0; gpu < 8; ++gpu) {
    const auto near = node.nics_by_distance(node.gpus()[static_cast<std::size_t>(gpu)]);
    CHECK(near.front() == gpu / 2);
  }
}

TEST_CASE("without NVLink, pairs of two switches share the way through the host bridge", "[smi]") {
  std::string text = test::cube_mesh();
  const std::string pci = "PHB";  // inside a socket NVLink hides PIX and PHB
  for (std::size_t at = text.find("NV"); at < text.find("\nNIC0"); at = text.find("NV", at)) {
    text.replace(at, 3, pci);
  }
  // Cross links hid SYS.
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string row = "\nGPU" + std::to_string(gpu) + "\t";
    const std::size_t begin = text.find(row) + row.size();
    text.replace(begin + static_cast<std::size_t>(4 * ((gpu + 4) % 8)), 3, "SYS");
    text.replace(begin + static_cast<std::size_t>(4 * (gpu ^ 1)), 3, "PIX");
  }
  const NodeGraph node = import_smi_topo(config::shipped_links(), text, "m.txt", options()).node;
  const auto first = way(node, "gpu0", "gpu2");
  const auto second = way(node, "gpu1", "gpu3");
  REQUIRE(first == std::vector<std::string>{"gpu0->switch0", "switch0->bridge0", "bridge0->switch1",
                                            "switch1->gpu2"});
  CHECK(second == std::vector<std::string>{"gpu1->switch0", "switch0->bridge0", "bridge0->switch1",
                                           "switch1->gpu3"});
}

TEST_CASE("more lanes than a GPU has mean an NVSwitch, no more mean direct links", "[smi]") {
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV6\tNV6\nGPU1\tNV6\t X \tNV6\nGPU2\tNV6\tNV6\t X \n";
  SECTION("a V100 has 6") {
    const NodeGraph node =
        import_smi_topo(config::shipped_links(), text, "m.txt", options("v100-sxm3-32gb")).node;
    CHECK(count(node, DeviceKind::nvswitch) == 1);
    CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[2]) == 6);
    const auto route = node.route(node.gpus()[0], node.gpus()[2]);
    CHECK(node.bottleneck(route).count() == Approx(6 * 22.5e9));
    CHECK(node.latency(route).count() == Approx(0.6e-6));
  }
  SECTION("an A100 has 12") {
    const NodeGraph node =
        import_smi_topo(config::shipped_links(), text, "m.txt", options("a100-sxm4-40gb")).node;
    CHECK(count(node, DeviceKind::nvswitch) == 0);
    CHECK(node.bottleneck(node.route(node.gpus()[0], node.gpus()[2])).count() == Approx(6 * 20e9));
  }
  SECTION("a P100 has 4") {
    CHECK_THROWS_MATCHES(
        import_smi_topo(config::shipped_links(), text, "m.txt", options("p100-sxm2-16gb")),
        ConfigError,
        Catch::Message("m.txt: gpu0 has 6 NVLinks, more than the 4 of p100-sxm2-16gb; expected "
                       "another GPU model"));
  }
}

TEST_CASE("PXB makes a switch above switches", "[smi]") {
  const NodeGraph node =
      import_smi_topo(
          config::shipped_links(),
          "\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tPXB\tPIX\nGPU1\tPXB\t X \tPXB\nmlx5_0\tPIX\tPXB\t X \n",
          "m.txt", options())
          .node;
  // switch0 joins all three below the bridge, switch1 the pair that is PIX.
  CHECK(way(node, "gpu0", "gpu1") ==
        std::vector<std::string>{"gpu0->switch1", "switch1->switch0", "switch0->gpu1"});
  CHECK(way(node, "gpu0", "mlx5_0") ==
        std::vector<std::string>{"gpu0->switch1", "switch1->mlx5_0"});
}

TEST_CASE("NV# hides the PCIe path: the CPU affinity then tells the socket", "[smi]") {
  const auto imported = import_smi_topo(
      config::shipped_links(),
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV2\tNV2\t0-7\nGPU1\tNV2\t X \tNV2\t0-7\n"
      "GPU2\tNV2\tNV2\t X \t8-15\n",
      "m.txt", options());
  CHECK(count(imported.node, DeviceKind::numa) == 2);
  REQUIRE(imported.assumptions.size() == 1);
  CHECK_THAT(imported.assumptions[0], Catch::ContainsSubstring("same CPU affinity"));
}

TEST_CASE("paths that contradict each other are refused", "[smi]") {
  CHECK_THROWS_MATCHES(
      import_smi_topo(config::shipped_links(),
                      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tPIX\nGPU1\tPIX\t X \tSYS\n"
                      "GPU2\tPIX\tSYS\t X \n",
                      "m.txt", options()),
      ConfigError,
      Catch::Message(
          "m.txt: GPU1 and GPU2 are further apart than their paths to other devices allow"));
}

TEST_CASE("where CPU affinities contradict the matrix, the matrix is trusted and reported",
          "[smi]") {
  const auto made =
      import_smi_topo(config::shipped_links(),
                      test::read_text(test::fixture("pytorch_ddp_v100.txt")), "m.txt", options());
  const NodeGraph& node = made.node;
  CHECK(made.assumptions ==
        std::vector<std::string>{
            "the column CPU Affinity is the same for GPUs that the matrix has on several sockets: "
            "the matrix is trusted"});
  CHECK(count(node, DeviceKind::numa) == 2);
  CHECK(count(node, DeviceKind::pcie_switch) == 4);
  // GPU0 and mlx5_0 are PIX, GPU0 and mlx5_2 SYS; two lanes from GPU0 to GPU3, one to GPU1.
  CHECK(way(node, "gpu0", "mlx5_0").size() == 2);
  CHECK(way(node, "gpu0", "mlx5_2").size() == 7);
  CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[3]) == 2);
  CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[1]) == 1);
}

TEST_CASE("affinities count where they contradict nothing", "[smi]") {
  const NodeGraph one =
      import_smi_topo(config::shipped_links(),
                      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV2\tSYS\t0-7\n"
                      "GPU1\tNV2\t X \tNV2\t0-7\nGPU2\tSYS\tNV2\t X \t0-7\n",
                      "m.txt", options())
          .node;
  // GPU1 can be beside one of the others only: the first in the matrix.
  CHECK(count(one, DeviceKind::numa) == 2);
}

TEST_CASE("a model without a form is the module or the card that its NVLinks tell", "[smi]") {
  const auto model = [](const std::string& text, const std::string& gpu) {
    const NodeGraph node =
        import_smi_topo(config::shipped_links(), text, "m.txt", options(gpu)).node;
    return node.device(node.gpus()[0]).model;
  };
  const std::string mesh = test::cube_mesh();
  const std::string bridged = test::read_text(test::fixture("h100_nvl_bridge.txt"));
  const std::string switched =
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV18\tNV18\n"
      "GPU1\tNV18\t X \tNV18\nGPU2\tNV18\tNV18\t X \n";
  CHECK(model(mesh, "v100") == "v100-sxm2-16gb");
  CHECK(model(bridged, "h100") == "h100-pcie-80gb");
  CHECK(model(bridged, "a100") == "a100-pcie-40gb");
  CHECK(model(bridged, "h100-nvl-94gb") == "h100-nvl-94gb");  // as the user says
  CHECK(model(switched, "h100") == "h100-sxm5-80gb");
  CHECK(model("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "v100") == "v100-pcie-16gb");
}

TEST_CASE("GPUs that reach nobody over PCIe make a node without peer access", "[smi]") {
  const std::string text = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n";
  const auto made = import_smi_topo(config::shipped_links(), text, "m.txt", options("rtx2080ti"));
  CHECK(made.node.peer_to_peer == PeerToPeer::none);
  CHECK(made.assumptions == std::vector<std::string>{"rtx2080ti reaches no other device's memory "
                                                     "over PCIe: peer_to_peer is none"});
  CHECK(import_smi_topo(config::shipped_links(), text, "m.txt", options("l40")).node.peer_to_peer ==
        PeerToPeer::socket);
}

TEST_CASE("ports and socket links that nobody named are those of the GPUs' generation", "[smi]") {
  const std::string text =
      "\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tSYS\n"
      "mlx5_0\tPIX\tSYS\t X \n";
  const auto told = [&](const std::string& gpu) {
    const NodeGraph node =
        import_smi_topo(config::shipped_links(), text, "m.txt", {.name = "box", .gpu = gpu}).node;
    return node.device(node.nics()[0]).model + " " + node.device(node.find("numa0").value()).model;
  };
  // NVIDIA's data sheets: DGX-1 (EDR), DGX-2 (EDR), DGX A100 (HDR), DGX H100 and B200 (NDR).
  CHECK(told("k80") == "ib_fdr broadwell");
  CHECK(told("p100-pcie-16gb") == "ib_edr broadwell");
  CHECK(told("v100-pcie-32gb") == "ib_edr skylake");
  CHECK(told("a100-pcie-80gb") == "ib_hdr amd");
  CHECK(told("h100-pcie-80gb") == "ib_ndr sapphire_rapids");
  CHECK(told("gh200-96gb") == "ib_ndr arm");
  CHECK(told("b200") == "ib_ndr emerald_rapids");
}

TEST_CASE("ports and socket links that nobody named are assumed aloud", "[smi]") {
  const auto told = import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt",
                                    {.name = "box", .gpu = "v100-sxm2-32gb"});
  CHECK(told.assumptions ==
        std::vector<std::string>{
            "the NICs' ports are of kind ib_edr (DGX-2: ConnectX-5 EDR, Xeon Platinum 8168)",
            "the link between sockets is that of skylake (DGX-2: ConnectX-5 EDR, Xeon Platinum "
            "8168)"});
  CHECK(import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt", options())
            .assumptions.empty());
}

TEST_CASE("NICs that no training uses are left out by name", "[smi]") {
  SmiTopoOptions with = options();
  with.leave_out = {"mlx5_1", "mlx5_2"};
  const NodeGraph node =
      import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt", with).node;
  CHECK(node.nics().size() == 2);
  CHECK(node.gpus().size() == 8);
  with.leave_out = {"GPU0"};
  CHECK_THROWS_MATCHES(import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt", with),
                       ConfigError,
                       Catch::Message("m.txt: unknown NIC 'GPU0'; expected one of mlx5_0, "
                                      "mlx5_1, mlx5_2, mlx5_3"));
}

TEST_CASE("unknown models are refused with the nearest known one", "[smi]") {
  SmiTopoOptions wrong = options();
  SECTION("GPU") {
    wrong.gpu = "v10-sxm2";
  }
  SECTION("NIC") {
    wrong.nic = "ib_err";
  }
  SECTION("CPU") {
    wrong.cpu = "brodwell";
  }
  CHECK_THROWS_WITH(import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt", wrong),
                    Catch::ContainsSubstring("did you mean '"));
}

}  // namespace
}  // namespace gradwire
