#include "topologies/importers/smi_merge.hpp"

#include <algorithm>
#include <string>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "tests/topologies/graphs.hpp"
#include "topologies/importers/nccl_topo.hpp"

namespace gradwire {
namespace {

/// Four A100: gpu0 and gpu1 on one switch with mlx5_0, gpu2 and gpu3 in slots of another processor.
std::string four_gpus(const std::string& nvlinks_of_0 = "", const std::string& nvlinks_of_1 = "") {
  const auto gpu = [](const std::string& bus, const std::string& inside, int dev) {
    return "<pci busid=\"0000:" + bus +
           ":00.0\" class=\"0x030200\" device=\"0x20b0\" link_speed=\"16 GT/s\" "
           "link_width=\"16\"><gpu dev=\"" +
           std::to_string(dev) + "\" rank=\"0\">" + inside + "</gpu></pci>\n";
  };
  return "<system version=\"1\">\n<cpu numaid=\"0\" vendor=\"AuthenticAMD\">\n"
         "<pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" "
         "link_width=\"16\">\n" +
         gpu("11", nvlinks_of_0, 0) + gpu("12", nvlinks_of_1, 1) +
         "<pci busid=\"0000:13:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" "
         "link_width=\"16\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\"/></nic></pci>\n"
         "</pci></cpu>\n<cpu numaid=\"1\" vendor=\"AuthenticAMD\">\n" +
         gpu("21", "", 2) + gpu("22", "", 3) + "</cpu></system>\n";
}

/// The matrix of that machine with NVLink bridges in pairs.
constexpr const char* bridged =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\n"
    "GPU0\t X \tNV12\tSYS\tSYS\tPIX\n"
    "GPU1\tNV12\t X \tSYS\tSYS\tPIX\n"
    "GPU2\tSYS\tSYS\t X \tNV12\tSYS\n"
    "GPU3\tSYS\tSYS\tNV12\t X \tSYS\n"
    "NIC0\tPIX\tPIX\tSYS\tSYS\t X \n\n"
    "NIC0: mlx5_0\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

ImportedNode merge(const std::string& xml, const std::string& matrix) {
  NcclTopoOptions options;
  options.name = "box";
  options.source = "a test";
  options.matrix = read_smi_matrix(matrix, "m.txt");
  options.matrix_file = "m.txt";
  return import_nccl_topo(config::shipped_links(), xml, "t.xml", options);
}

bool tells(const ImportedNode& imported, const std::string& part) {
  return std::any_of(
      imported.assumptions.begin(), imported.assumptions.end(),
      [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
}

TEST_CASE("a matrix supplies the NVLinks that the XML hides", "[merge]") {
  const ImportedNode imported = merge(four_gpus(), bridged);
  const NodeGraph& node = imported.node;
  CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[1]) == 12);
  CHECK(node.nvlink_lanes(node.gpus()[2], node.gpus()[3]) == 12);
  CHECK(node.nvlink_lanes(node.gpus()[1], node.gpus()[2]) == 0);
  CHECK(tells(imported, "t.xml states no usable NVLinks; they are taken from m.txt"));
  test::check_round_trip(node);
}

TEST_CASE("GPUs are matched by the bus ids that the matrix's text carries", "[merge]") {
  // The matrix counts the GPUs the other way round: its GPU0 is the XML's gpu3.
  const std::string order =
      "index, pci.bus_id\n0, 00000000:22:00.0\n1, 00000000:21:00.0\n2, 00000000:12:00.0\n"
      "3, 00000000:11:00.0\n\n";
  const std::string turned =
      "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\n"
      "GPU0\t X \tPHB\tSYS\tSYS\tSYS\n"
      "GPU1\tPHB\t X \tSYS\tSYS\tSYS\n"
      "GPU2\tSYS\tSYS\t X \tNV4\tPIX\n"
      "GPU3\tSYS\tSYS\tNV4\t X \tPIX\n"
      "mlx5_0\tSYS\tSYS\tPIX\tPIX\t X \n";
  const NodeGraph node = merge(four_gpus(), order + turned).node;
  CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[1]) == 4);
  CHECK(node.nvlink_lanes(node.gpus()[2], node.gpus()[3]) == 0);
  SECTION("without them the numbers would not fit, and that is reported") {
    CHECK_THROWS_MATCHES(
        merge(four_gpus(), turned), ConfigError,
        Catch::Message("m.txt: GPU0-GPU1 is PHB in the matrix and PIX in t.xml; the GPUs "
                       "were matched by number, since the matrix's text has no bus ids: expected "
                       "the same machine in both"));
  }
  SECTION("the table of plain nvidia-smi carries them too") {
    const std::string table =
        "|   0  NVIDIA A100-SXM4-40GB   On  | 00000000:22:00.0 Off |   0 |\n"
        "|   1  NVIDIA A100-SXM4-40GB   On  | 00000000:21:00.0 Off |   0 |\n"
        "|   2  NVIDIA A100-SXM4-40GB   On  | 00000000:12:00.0 Off |   0 |\n"
        "|   3  NVIDIA A100-SXM4-40GB   On  | 00000000:11:00.0 Off |   0 |\n\n";
    const NodeGraph same = merge(four_gpus(), table + turned).node;
    CHECK(same.nvlink_lanes(same.gpus()[0], same.gpus()[1]) == 4);
  }
  SECTION("where they tell another path than the XML, that is reported and the XML's is taken") {
    const ImportedNode imported =
        merge(four_gpus(), order + replaced(replaced(turned, "PHB", "SYS"), "PHB", "SYS"));
    CHECK(tells(imported, "GPU1-GPU0 is SYS in the matrix and PHB in t.xml: the latter is taken"));
  }
  SECTION("a bus id that the matrix does not have") {
    CHECK_THROWS_MATCHES(
        merge(four_gpus(), replaced(order, "22:00.0", "23:00.0") + turned), ConfigError,
        Catch::Message("m.txt: no GPU of the matrix has the bus id 0:22:00.0 of t.xml; "
                       "expected the same machine in both"));
  }
}

TEST_CASE("sources that disagree are reported with both values", "[merge]") {
  const std::string there = "<nvlink target=\"0000:12:00.0\" count=\"4\" tclass=\"0x030200\"/>";
  const std::string back = "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/>";
  CHECK_THROWS_MATCHES(merge(four_gpus(there, back), bridged), ConfigError,
                       Catch::Message("m.txt: GPU0-GPU1: NVLinks 12 in the matrix and 4 in "
                                      "t.xml; expected the same machine in both"));
  CHECK_THROWS_MATCHES(merge(four_gpus(), "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"),
                       ConfigError,
                       Catch::Message("m.txt: the matrix has 2 GPUs and t.xml has 4; expected "
                                      "the same machine in both"));
}

TEST_CASE("a matrix of PCIe links only leaves the XML's NVLinks", "[merge]") {
  const std::string there = "<nvlink target=\"0000:12:00.0\" count=\"4\" tclass=\"0x030200\"/>";
  const std::string back = "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/>";
  std::string matrix = bridged;
  matrix = replaced(replaced(matrix, "NV12", "PIX"), "NV12", "PIX");
  matrix = replaced(replaced(matrix, "NV12", "NODE"), "NV12", "NODE");
  const ImportedNode imported = merge(four_gpus(there, back), matrix);
  CHECK(imported.node.nvlink_lanes(imported.node.gpus()[0], imported.node.gpus()[1]) == 4);
  CHECK(tells(imported, "m.txt has no NV# (as 'topo -mp' prints): the NVLinks of t.xml are taken"));
}

}  // namespace
}  // namespace gradwire
