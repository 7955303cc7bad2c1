#include "topologies/importers/nccl_topo.hpp"

#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"

namespace gradwire {
namespace {

NcclTopoOptions options(const std::string& gpu = "") {
  NcclTopoOptions result;
  result.name = "box";
  result.gpu = gpu;
  result.source = "a test";
  return result;
}

/// Two GPUs with what `first` and `second` put inside their <gpu>.
std::string two_gpus(const std::string& first, const std::string& second,
                     const std::string& device = "0x20b0") {
  const auto gpu = [&](int number, const std::string& inside) {
    return "<pci busid=\"0:0" + std::to_string(number) + ":00.0\" class=\"0x0302\" device=\"" +
           device + "\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"" +
           std::to_string(number) + "\" rank=\"" + std::to_string(number) + "\">" + inside +
           "</gpu></pci>\n";
  };
  return "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "modelid=\"106\">\n" +
         gpu(0, first) + gpu(1, second) + "</cpu>\n</system>\n";
}
std::string nvlink(const std::string& target, int count, const std::string& code = "0x030200") {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
         code + "\"/>";
}
std::string card(const std::string& bus, const std::string& code, const std::string& speed,
                 int width, const std::string& nets) {
  return "<pci busid=\"" + bus + "\" class=\"" + code + "\" link_speed=\"" + speed +
         "\" link_width=\"" + std::to_string(width) + "\"><nic>" + nets + "</nic></pci>\n";
}
std::string net(const std::string& name, int dev, int speed, const std::string& more = "") {
  return "<net name=\"" + name + "\" dev=\"" + std::to_string(dev) + "\" speed=\"" +
         std::to_string(speed) + "\" " + more + "/>";
}
/// two_gpus with more devices at the processor.
std::string with_more(const std::string& more) {
  std::string text = two_gpus("", "");
  return text.insert(text.find("</cpu>"), more);
}

double rate(const NodeGraph& node, const std::string& resource) {
  for (const auto& one : node.resources()) {
    if (one.name == resource) return one.bandwidth.count();
  }
  return 0;
}
bool tells(const ImportedNode& imported, const std::string& part) {
  for (const std::string& sentence : imported.assumptions) {
    if (sentence.find(part) != std::string::npos) return true;
  }
  return false;
}
void check_refused(const std::string& text, const std::string& message,
                   const NcclTopoOptions& with = options()) {
  CHECK_THROWS_MATCHES(import_nccl_topo(config::shipped_links(), text, "t.xml", with), ConfigError,
                       Catch::Message(message));
}

TEST_CASE("an XML becomes sockets, switches, GPUs, ports and one NVSwitch", "[nccl_topo]") {
  const ImportedNode imported = import_nccl_topo(
      config::shipped_links(), test::read_text(test::fixture("p4d.xml")), "p4d.xml", options());
  const NodeGraph& node = imported.node;
  CHECK(test::count(node, DeviceKind::numa) == 2);
  CHECK(test::count(node, DeviceKind::host_bridge) == 2);
  CHECK(test::count(node, DeviceKind::pcie_switch) == 4);
  CHECK(test::count(node, DeviceKind::nvswitch) == 1);
  REQUIRE(node.gpus().size() == 8);
  CHECK(node.device(node.gpus()[5]).model == "a100-sxm4-40gb");  // PCI device 10de:20b0
  CHECK(node.device(node.gpus()[5]).numa == 1);
  REQUIRE(node.nics().size() == 4);
  CHECK(node.device(node.nics()[3]).name == "efa3");
  // 6 switches x 2 links; 20 GB/s a lane (NCCL's plan for NVLink 3).
  CHECK(test::lanes_of_gpu(node, node.gpus()[0]) == 12);
  CHECK(node.bottleneck(node.route(node.gpus()[0], node.gpus()[7])).count() == Approx(240e9));
  // 8 GT/s x16: 12 GB/s; two switches at each bridge.
  CHECK(rate(node, "gpu0->switch0") == Approx(12e9));
  CHECK(rate(node, "bridge0->numa0") == Approx(24e9));
  CHECK(rate(node, "numa0->numa1") == Approx(10e9));  // Skylake (model 85)
  CHECK(test::way(node, "gpu2", "efa1") ==
        std::vector<std::string>{"gpu2->switch1", "switch1->efa1"});
}

TEST_CASE("a NUMA node has the kind of its processor", "[nccl_topo]") {
  for (const auto& [file, kind] : {std::pair{"p4d.xml", "skylake"}, std::pair{"p5.xml", "amd"}}) {
    const NodeGraph node = import_nccl_topo(config::shipped_links(),
                                            test::read_text(test::fixture(file)), file, options())
                               .node;
    CHECK(node.device(DeviceId{}).model == kind);  // numa0 is the first
  }
}

TEST_CASE("imported XMLs come back from their YAML as the same graph", "[nccl_topo]") {
  for (const char* file : {"p4d.xml", "p5.xml"}) {
    test::check_round_trip(import_nccl_topo(config::shipped_links(),
                                            test::read_text(test::fixture(file)), file, options())
                               .node);
  }
  test::check_round_trip(
      import_nccl_topo(config::shipped_links(),
                       with_more(card("0:09:00.0", "0x020000", "8.0 GT/s PCIe", 16,
                                      net("eth0: 1", 0, 100000) + net("null", 1, 100000))),
                       "t.xml", options())
          .node);
}

TEST_CASE("speed and width give each PCIe link its own bandwidth", "[nccl_topo]") {
  // NCCL plans x16 with 3, 6, 12, 24, 48 GB/s from 2.5 to 32 GT/s; lanes in proportion.
  const NodeGraph node =
      import_nccl_topo(
          config::shipped_links(),
          with_more(card("0:09:00.0", "0x020000", "8.0 GT/s PCIe", 4, net("eno1", 0, 1000)) +
                    card("0:0a:00.0", "0x020000", "2.5 GT/s", 8, net("eno2", 1, 1000)) +
                    card("0:0b:00.0", "0x020000", "32 GT/s PCIe/s", 16, net("eno3", 2, 1000))),
          "t.xml", options())
          .node;
  CHECK(rate(node, "gpu0->bridge0") == Approx(24e9));
  CHECK(rate(node, "eno1->bridge0") == Approx(12e9 / 4));
  CHECK(rate(node, "eno2->bridge0") == Approx(3e9 / 2));
  CHECK(rate(node, "eno3->bridge0") == Approx(48e9));
}

TEST_CASE("a port's kind follows from class, name and speed", "[nccl_topo]") {
  const auto model = [](const std::string& code, const std::string& name, int speed) {
    const NodeGraph node =
        import_nccl_topo(config::shipped_links(),
                         with_more(card("0:09:00.0", code, "16 GT/s", 16, net(name, 0, speed))),
                         "t.xml", options())
            .node;
    return node.device(node.nics()[0]).model;
  };
  CHECK(model("0x020700", "mlx5_0", 56000) == "ib_fdr");
  // Amazon's Ethernet adapter beside its EFA.
  std::string ethernet = test::read_text(test::fixture("p4d.xml"));
  ethernet.replace(ethernet.find("0xefa0"), 6, "0xec20");
  const NodeGraph mixed =
      import_nccl_topo(config::shipped_links(), ethernet, "t.xml", options()).node;
  CHECK(mixed.device(mixed.nics()[0]).model == "ena_100g");
  CHECK(mixed.device(mixed.nics()[1]).model == "efa_100g");
  CHECK(model("0x020700", "mlx5_0", 400000) == "ib_ndr");
  CHECK(model("0x020000", "mlx5_0", 100000) == "roce_100g");
  CHECK(model("0x020000", "eno1", 10000) == "eth_10g");
  CHECK(model("0x020000", "eno1", 123).empty());
}

TEST_CASE("NVLinks to the other GPU are direct, and must be counted alike", "[nccl_topo]") {
  const ImportedNode pair = import_nccl_topo(
      config::shipped_links(), two_gpus(nvlink("0000:01:00.0", 12), nvlink("0000:00:00.0", 12)),
      "t.xml", options());
  CHECK(pair.node.nvlink_lanes(pair.node.gpus()[0], pair.node.gpus()[1]) == 12);
  CHECK(test::count(pair.node, DeviceKind::nvswitch) == 0);
  check_refused(two_gpus(nvlink("0000:01:00.0", 4), nvlink("0000:00:00.0", 2)),
                "t.xml:4:1: 0:01:00.0 counts 2 NVLinks to 0:00:00.0, which counts 4 back; expected "
                "the same both ways");
  check_refused(two_gpus(nvlink("0000:01:00.0", 13), nvlink("0000:00:00.0", 13)),
                "t.xml: gpu0 has 13 NVLinks, more than the 12 of a100-sxm4-40gb; expected another "
                "GPU model");
}

TEST_CASE("what a file hides is assumed aloud", "[nccl_topo]") {
  SECTION("the NVSwitch of a virtual machine") {
    const std::string hidden = nvlink("fffffff:ff:ff.0", 12, "0x068000");
    const auto imported =
        import_nccl_topo(config::shipped_links(), two_gpus(hidden, hidden), "t.xml", options());
    CHECK(imported.node.nvlink_lanes(imported.node.gpus()[0], imported.node.gpus()[1]) == 12);
    CHECK(
        tells(imported, "0:00:00.0, 0:01:00.0: the NVSwitch at the end of its NVLinks is hidden"));
  }
  SECTION("NVLinks that end where they begin") {
    const auto imported = import_nccl_topo(
        config::shipped_links(), two_gpus(nvlink("0000:00:00.0", 12), nvlink("0000:01:00.0", 12)),
        "t.xml", options());
    CHECK(test::lanes_of_gpu(imported.node, imported.node.gpus()[0]) == 0);
    CHECK(tells(imported, "are written to end where they begin, and are left out"));
    CHECK(tells(imported, "no usable NVLinks are stated, of 12 that a100-sxm4-40gb can have"));
  }
  SECTION("NVLinks to a GPU of another file") {
    const auto imported = import_nccl_topo(
        config::shipped_links(), two_gpus(nvlink("0000:77:00.0", 4), ""), "t.xml", options());
    CHECK(tells(imported, "its NVLinks to 0:77:00.0, a GPU that the file does not have"));
  }
  SECTION("links without speed and width") {
    std::string text = two_gpus("", "");
    const std::string link = "link_speed=\"16 GT/s\" link_width=\"16\"";
    for (std::size_t at = text.find(link); at != std::string::npos; at = text.find(link)) {
      text.replace(at, link.size(), "link_speed=\"\" link_width=\"0\"");
    }
    const auto imported = import_nccl_topo(config::shipped_links(), text, "t.xml", options());
    CHECK(rate(imported.node, "gpu0->bridge0") == Approx(24e9));  // an A100 has PCIe 4
    CHECK(tells(imported, "link speed '' is none of PCIe's: taken as pcie4"));
    CHECK(tells(imported, "link width 0 is taken as 16"));
  }
  SECTION("a link faster than the GPU has") {
    const auto imported = import_nccl_topo(config::shipped_links(), two_gpus("", ""), "t.xml",
                                           options("v100-sxm2-16gb"));
    CHECK(rate(imported.node, "gpu0->bridge0") == Approx(12e9));
    CHECK(tells(imported, "link speed '16 GT/s' is more than v100-sxm2-16gb has"));
  }
  SECTION("bridges of a virtual machine") {
    const auto imported = import_nccl_topo(
        config::shipped_links(),
        with_more("<pci busid=\"0:40:00.0\" class=\"0x060400\" link_speed=\"2.5 GT/s PCIe\" "
                  "link_width=\"1\">" +
                  card("0:41:00.0", "0x020700", "32 GT/s", 0, net("mlx5_0", 0, 200000)) + "</pci>"),
        "t.xml", options());
    CHECK(rate(imported.node, "switch0->bridge0") == Approx(48e9));
    CHECK(tells(imported, "a bridge of '2.5 GT/s PCIe' x1 is taken as wide as the widest link"));
  }
  SECTION("interfaces of containers, and a port of no PCI device") {
    const auto imported =
        import_nccl_topo(config::shipped_links(),
                         with_more("<nic>" + net("veth12", 0, 10000) + net("br-0af", 1, 10000) +
                                   net("eth0", 2, 100000, "gdr=\"0\"") + "</nic>"),
                         "t.xml", options());
    REQUIRE(imported.node.nics().size() == 1);
    CHECK(imported.node.device(imported.node.nics()[0]).name == "eth0");
    CHECK(tells(imported, "veth12, br-0af: an interface of bridges or containers, left out"));
    CHECK(tells(imported, "eth0: no GPUDirect RDMA"));
    CHECK(tells(imported, "eth0: a port of no PCI device"));
  }
  SECTION("a NUMA node without number and a processor without a name") {
    const auto imported = import_nccl_topo(
        config::shipped_links(),
        "<system version=\"1\"><cpu numaid=\"-1\"/><cpu><pci busid=\"1:0:0.0\" class=\"0x0302\"/>"
        "</cpu></system>",
        "t.xml", options("t4"));
    CHECK(tells(imported, "numa0, numa1: its number is hidden"));
    CHECK(tells(imported, "is taken as skylake"));
    CHECK(tells(imported, "the GPUs: no number (dev) of each is stated, so they count by bus id"));
  }
}

TEST_CASE("two ports of one card share its slot", "[nccl_topo]") {
  const NodeGraph node =
      import_nccl_topo(config::shipped_links(),
                       with_more(card("0:09:00.0", "0x020700", "8 GT/s", 16,
                                      net("mlx5_0", 0, 100000) + net("mlx5_1", 1, 100000))),
                       "t.xml", options())
          .node;
  const auto first = test::way(node, "gpu0", "mlx5_0");
  const auto second = test::way(node, "gpu0", "mlx5_1");
  CHECK(first == std::vector<std::string>{"gpu0->bridge0", "bridge0->switch0", "switch0->mlx5_0"});
  CHECK(second[1] == first[1]);
  CHECK(rate(node, "bridge0->switch0") == Approx(12e9));
}

TEST_CASE("GPUs and ports count by dev, or by bus id where it is not stated", "[nccl_topo]") {
  const NodeGraph node =
      import_nccl_topo(config::shipped_links(),
                       with_more(card("0:09:00.0", "0x020700", "8 GT/s", 16, net("b", 1, 100000)) +
                                 card("0:0a:00.0", "0x020700", "8 GT/s", 16, net("a", 0, 100000))),
                       "t.xml", options())
          .node;
  CHECK(node.device(node.nics()[0]).name == "a");
  // "b:.." before "10:..": numbers, not letters.
  const NodeGraph by_bus =
      import_nccl_topo(config::shipped_links(),
                       "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0010:00:00.0\" "
                       "class=\"0x0302\"/></cpu><cpu numaid=\"1\"><pci busid=\"000b:00:00.0\" "
                       "class=\"0x0302\"/></cpu></system>",
                       "t.xml", options("t4"))
          .node;
  CHECK(by_bus.device(by_bus.gpus()[0]).numa == 1);
}

TEST_CASE("links to the own processor join GPU and NUMA node", "[nccl_topo]") {
  SECTION("NVLink of POWER9") {
    const std::string own = nvlink("0004:00:00.1", 3, "0x068001");
    const NodeGraph node =
        import_nccl_topo(config::shipped_links(), two_gpus(own, own, "0x1db1"), "t.xml", options())
            .node;
    CHECK(rate(node, "gpu1->numa0") == Approx(3 * 22.5e9));
    CHECK(test::way(node, "gpu0", "gpu1") ==
          std::vector<std::string>{"gpu0->numa0", "numa0->gpu1"});
    test::check_round_trip(node);
  }
  SECTION("NVLink-C2C of Grace") {
    const NodeGraph node =
        import_nccl_topo(config::shipped_links(),
                         two_gpus("<c2c bw=\"44712\" count=\"10\"/>", "", "0x2330"), "t.xml",
                         options())
            .node;
    CHECK(rate(node, "gpu0->numa0") == Approx(447.12e9));
  }
}

TEST_CASE("ports that no training uses are left out by name", "[nccl_topo]") {
  NcclTopoOptions with = options();
  with.leave_out = {"efa1", "efa3"};
  const std::string text = test::read_text(test::fixture("p4d.xml"));
  const NodeGraph node = import_nccl_topo(config::shipped_links(), text, "p4d.xml", with).node;
  CHECK(node.nics().size() == 2);
  with.leave_out = {"efa9"};
  CHECK_THROWS_MATCHES(import_nccl_topo(config::shipped_links(), text, "p4d.xml", with),
                       ConfigError,
                       Catch::Message("p4d.xml: unknown NIC 'efa9'; expected one of efa0, efa1, "
                                      "efa2, efa3; did you mean 'efa0'?"));
}

TEST_CASE("files that give no node are refused with their place", "[nccl_topo]") {
  check_refused("<system version=\"1\">\n<cpu numaid=\"0\"/></system>",
                "t.xml:2:1: no GPU found: no <gpu> and no <pci> of class 0x03; expected at least "
                "one");
  CHECK_THROWS_WITH(
      import_nccl_topo(config::shipped_links(), two_gpus("", "", "0xbeef"), "t.xml", options()),
      Catch::StartsWith("t.xml:3:1: the GPU's model is not stated (PCI device "
                        "'0xbeef'); expected the option --gpu with one of k80"));
  check_refused(two_gpus("\n" + nvlink("0:55:00.0", 1, "0x060400"), ""),
                "t.xml:4:1: NVLink to '0:55:00.0' of class '0x060400'; expected a GPU of the "
                "file, an NVSwitch (0x068000) or a processor (0x068001)");
  check_refused(
      with_more(card("0:09:00.0", "0x020700", "8 GT/s", 16, "\n" + net("gpu1", 0, 100000))),
      "t.xml:6:1: device 'gpu1' stands twice; expected a name of its own");
  CHECK_THROWS_WITH(
      import_nccl_topo(config::shipped_links(), two_gpus("", ""), "t.xml", options("v10-sxm2")),
      Catch::StartsWith("t.xml: unknown GPU model 'v10-sxm2'; expected one of"));
}

}  // namespace
}  // namespace gradwire
