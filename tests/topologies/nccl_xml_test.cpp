#include "topologies/importers/nccl_xml.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/importers/pci_ids.hpp"

namespace gradwire {
namespace {

void check_refused(const std::string& text, const std::string& message) {
  CHECK_THROWS_MATCHES(read_nccl_xml(text, "t.xml"), ConfigError, Catch::Message(message));
}

std::string inside_cpu(const std::string& text) {
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + text + "\n</cpu>\n</system>\n";
}

TEST_CASE("an XML is read with its tree, links, ports and NVLinks", "[nccl_xml]") {
  const NcclXmlSystem system = read_nccl_xml(test::read_text(test::fixture("p4d.xml")), "p4d.xml");
  REQUIRE(system.cpus.size() == 2);
  CHECK(system.cpus[1].numa == 1);
  CHECK(system.cpus[1].vendor == "GenuineIntel");
  CHECK(system.cpus[1].model == 85);
  REQUIRE(system.cpus[0].pci.size() == 2);
  const NcclPci& bridge = system.cpus[0].pci[1];
  CHECK(bridge.kind == PciKind::bridge);
  CHECK(bridge.gigatransfers == 8);
  CHECK(bridge.width == 16);
  REQUIRE(bridge.children.size() == 3);
  const NcclPci& gpu = bridge.children[0];
  CHECK(gpu.kind == PciKind::gpu);
  CHECK(gpu.bus == "0:20:1c.0");
  CHECK(gpu.device == "0x20b0");
  REQUIRE(gpu.gpu.has_value());
  CHECK(gpu.gpu->dev == 2);
  REQUIRE(gpu.gpu->nvlinks.size() == 6);
  CHECK(gpu.gpu->nvlinks[0].count == 2);
  CHECK(gpu.gpu->nvlinks[0].target_class == "0x068000");
  const NcclPci& nic = bridge.children[2];
  CHECK(nic.kind == PciKind::nic);
  CHECK_FALSE(nic.infiniband);
  REQUIRE(nic.nets.size() == 1);
  CHECK(nic.nets[0].name == "efa1");
  CHECK(nic.nets[0].speed.value().count() == Approx(12.5e9));  // 100000 Mbit/s
  CHECK(nic.nets[0].gdr);
}

TEST_CASE("without gpu and net the class of a PCI device tells what it is", "[nccl_xml]") {
  const NcclXmlSystem system = read_nccl_xml(
      inside_cpu(R"(<pci busid="0001:00:00.0" class="0x030200" link_speed="" link_width="0"/>
<pci busid="0101:00:00.0" class="0x020700"/><pci busid="2:0:0.0" class="0x010802"/>)"),
      "t.xml");
  const auto& pci = system.cpus[0].pci;
  REQUIRE(pci.size() == 3);
  CHECK(pci[0].kind == PciKind::gpu);
  CHECK(pci[0].gigatransfers == 0);
  CHECK(pci[0].width == 0);
  CHECK(pci[1].kind == PciKind::nic);
  CHECK(pci[1].infiniband);
  CHECK(pci[2].kind == PciKind::other);
}

TEST_CASE("c2c tells lanes and their rate in MB/s", "[nccl_xml]") {
  const NcclXmlSystem system = read_nccl_xml(
      inside_cpu(R"(<pci busid="9:01:00.0"><gpu dev="0"><c2c bw="44712" count="10"/></gpu></pci>)"),
      "t.xml");
  const auto& c2c = system.cpus[0].pci[0].gpu->c2c;
  REQUIRE(c2c.has_value());
  CHECK(c2c->count == 10);
  CHECK(c2c->bandwidth.count() == Approx(44.712e9));
}

TEST_CASE("a bus id has one form, however many zeros its domain is written with", "[nccl_xml]") {
  CHECK(pci_bus_id("00000000:3B:00.0") == "0:3b:00.0");
  CHECK(pci_bus_id("0000:3b:00.0") == "0:3b:00.0");
  CHECK(pci_bus_id("000d:00:00.0") == "d:00:00.0");
  CHECK(pci_bus_id("fffffff:ff:ff.0") == "fffffff:ff:ff.0");
  CHECK(pci_bus_id("").empty());
}

TEST_CASE("what is no NCCL topology is refused with its place", "[nccl_xml]") {
  check_refused("", "t.xml:1:1: not XML; expected a file that NCCL wrote with NCCL_TOPO_DUMP_FILE");
  // "</cpv>" begins in column 1 of line 3; the parser stops behind what it could not match.
  CHECK_THROWS_WITH(read_nccl_xml("<system>\n<cpu>\n</cpv>\n", "t.xml"),
                    Catch::StartsWith("t.xml:3:") && Catch::ContainsSubstring("not XML"));
  check_refused("<graphs version=\"1\"/>",
                "t.xml:1:1: <graphs> is a file of NCCL's rings and trees (NCCL_GRAPH_DUMP_FILE); "
                "expected its topology, <system> (NCCL_TOPO_DUMP_FILE)");
  check_refused("<topology/>", "t.xml:1:1: <topology> is no NCCL topology; expected <system>");
  check_refused("<system version=\"2\"/>", "t.xml:1:1: version '2' of the topology; expected 1");
  check_refused("<system version=\"1\"></system>",
                "t.xml:1:1: a system without <cpu>; expected at least one");
  check_refused(inside_cpu("  <pcl busid=\"0:1:0.0\"/>"),
                "t.xml:3:3: <pcl> inside <cpu>; expected pci, nic; did you mean 'pci'?");
  check_refused(inside_cpu("<pci class=\"0x030000\"/>"),
                "t.xml:3:1: <pci> without a bus id; expected busid=\"0000:3b:00.0\"");
  check_refused(inside_cpu("<pci busid=\"0:1:0.0\"/>\n <pci busid=\"0000:1:0.0\"/>"),
                "t.xml:4:2: bus id '0:1:0.0' stands twice; expected each device once");
  check_refused(inside_cpu("<pci busid=\"0:1:0.0\" link_width=\"wide\"/>"),
                "t.xml:3:1: link_width 'wide' of <pci>; expected a whole number");
  check_refused(inside_cpu("<pci busid=\"1\"><gpu dev=\"0\"/></pci>\n<pci busid=\"2\"><gpu "
                           "dev=\"0\"/></pci>"),
                "t.xml:4:16: dev 0 of <gpu> stands twice; expected each once");
  check_refused(inside_cpu("<pci busid=\"1\"><gpu dev=\"0\"><nvlink target=\"2\" "
                           "count=\"0\"/></gpu></pci>"),
                "t.xml:3:29: count '0' of <nvlink>; expected at least 1, at most 1000");
  check_refused(
      "<system version=\"1\">\n<cpu host_hash=\"0xa\"/>\n<cpu host_hash=\"0xb\"/>\n"
      "</system>",
      "t.xml:3:1: host_hash '0xb' is a second machine; expected one machine a file");
}

}  // namespace
}  // namespace gradwire
