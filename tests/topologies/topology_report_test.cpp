#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/core/switch_classes.hpp"
#include "sim/report/placement_text.hpp"
#include "sim/report/topology_dot.hpp"
#include "sim/report/topology_text.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/importers/smi_topo.hpp"
#include "topologies/links.hpp"

namespace gradwire {
namespace {

using Catch::ContainsSubstring;

/// Machines of one type.
std::vector<std::shared_ptr<const NodeGraph>> box_nodes(int nodes) {
  const auto node = std::make_shared<const NodeGraph>(
      import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt",
                      {.name = "box", .gpu = "v100", .cpu = "broadwell", .source = "a test"})
          .node);
  return std::vector(static_cast<std::size_t>(nodes), node);
}

Cluster boxes(int nodes) {
  return {box_nodes(nodes),
          single_switch(4 * nodes, config::shipped_links().find_port("ib_edr")->port)};
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("the text shows each node type once, with routes by class", "[topology][report]") {
  const std::string text = topology_text(boxes(3));
  CHECK(occurrences(text, "node type") == 1);
  CHECK_THAT(text, ContainsSubstring("node type box: 3 nodes, first node0\n  source: a test\n"));
  // Directed pairs: 8 of two lanes and 8 of one lane each way, 12 across the sockets each way
  // without a lane, by a GPU between them: 4 with two lanes on both sides.
  CHECK_THAT(text, ContainsSubstring("NVLink x2                    16    45.00    0.60"));
  CHECK_THAT(text, ContainsSubstring("NVLink x1                    16    22.50    0.60"));
  CHECK_THAT(text, ContainsSubstring("NVLink x2, 2 hops             8    45.00    1.20"));
  CHECK_THAT(text, ContainsSubstring("NVLink x1, 2 hops            16    22.50    1.20"));
  CHECK_THAT(text, ContainsSubstring("gpu3   nic1 mlx5_1     12.00    0.60"));
  CHECK_THAT(text, ContainsSubstring("gpu1        2      X      1      1      -      2"));
  CHECK_THAT(text, ContainsSubstring("fabric single_switch: 1 switch, 12 ports\n"
                                     "  ib_edr (ib): 12.07 GB/s each way, 0.275 us a port\n"
                                     "  switch0: 12 ports of ib_edr\n"));
  CHECK_THAT(text, ContainsSubstring("node0 to node2: 12.00 GB/s, 1.75 us: node0.gpu0->switch0"));
}

/// 32 machines of 4 NICs, 4 machines a leaf, as many cables up as down, hashed.
Cluster boxes_on_a_fat_tree(int nodes) {
  FatTreeShape shape;
  shape.machines_per_leaf = 4;
  shape.spines = 16;
  const PortSpec& port = config::shipped_links().find_port("ib_edr")->port;
  shape.trunk = {LinkKind::network, port.bandwidth, port.latency, 1};
  return {box_nodes(nodes), fat_tree(std::vector<PortGroup>{{nodes, 4, port}}, shape)};
}

TEST_CASE("switches that are alike are reported once, with what joins them", "[topology][report]") {
  // 30 machines: 7 full leaves with 16 ports, one with 8; 16 spines, each under all of them.
  const std::string text = topology_text(boxes_on_a_fat_tree(30));
  CHECK_THAT(text, ContainsSubstring(
                       "fabric fat_tree: 24 switches, 120 ports, one of equal-cost paths by hash"));
  CHECK_THAT(text, ContainsSubstring(
                       "  leaf0 ... leaf6 x 7: 16 ports of ib_edr (193.1 GB/s of ports to 193.1 of "
                       "trunks); 16 trunks of 12.07 GB/s to spine0 ... spine15 x 16\n"));
  CHECK_THAT(text, ContainsSubstring("  leaf7: 8 ports of ib_edr (96.56 GB/s of ports to 193.1"));
  CHECK_THAT(text, ContainsSubstring(
                       "  spine0 ... spine15 x 16: 7 trunks of 12.07 GB/s to leaf0 ... leaf6 x 7, "
                       "1 trunk of 12.07 GB/s to leaf7\n"));
}

TEST_CASE("a fabric with merged ways tells the cables of one switch", "[topology][report]") {
  const Cluster hashed = boxes_on_a_fat_tree(32);
  const Cluster spread(box_nodes(32), merge_equal_ways(hashed.fabric()));
  const std::string text = topology_text(spread);
  CHECK_THAT(text, ContainsSubstring("fabric fat_tree: 24 switches, 128 ports, flows spread"));
  CHECK_THAT(text, ContainsSubstring("16 trunks of 12.07 GB/s to spine0-15 x 16\n"));
  CHECK_THAT(text, ContainsSubstring("spine0-15 x 16: 8 trunks of 12.07 GB/s to leaf0"));
}

TEST_CASE("the drawing shows every device and link of the nodes drawn", "[topology][report]") {
  const std::string dot = topology_dot(boxes(2), 2);
  CHECK_THAT(dot, ContainsSubstring("label=\"node1: box\""));
  // 2 machines x 35 links inside (16 NVLink, of two lines each, 18 PCIe, 1 between sockets) and 4
  // ports.
  CHECK(occurrences(dot, " -- ") == 2 * (16 + 35 + 4));
  CHECK(occurrences(dot, "label=\"45\"") == 2 * 8);
  CHECK(occurrences(dot, "label=\"12.07\"") == 2 * 4);
}

TEST_CASE("of many nodes the drawing shows one of each type, of many switches one of each kind",
          "[topology][report]") {
  const std::string dot = topology_dot(boxes_on_a_fat_tree(32), 2);
  CHECK_THAT(dot, ContainsSubstring("label=\"node0: box x 32\""));
  CHECK(occurrences(dot, "node1.") == 0);
  // One machine with its 4 ports, and one line from the box of leaves to that of spines.
  CHECK(occurrences(dot, " -- ") == 16 + 35 + 4 + 1);
  CHECK(occurrences(dot, "label=\"16 x 12.07\"") == 1);
  CHECK_THAT(dot, ContainsSubstring("label=\"leaf0 ...\\nx 8\""));
}

TEST_CASE("ranks in a row are one line, and long lists are folded", "[topology][report]") {
  const Cluster cluster = boxes(3);
  CHECK(placement_text(packed_placement(cluster, 8), {{0, 1}, {1, 0}, {0, 1}}) ==
        "24 ranks\n"
        "  ranks 0-7: node0.gpu0-7\n"
        "  ranks 8-15: node1.gpu0-7\n"
        "  ranks 16-23: node2.gpu0-7\n"
        "ring of channel 0 (of 3): 0 1\n"
        "ring of channel 1 (of 3): 1 0\n");
  CHECK(placement_text(round_robin_placement(cluster, 2), {}) ==
        "6 ranks\n"
        "  ranks 0-2: node0-2.gpu0\n"
        "  ranks 3-5: node0-2.gpu1\n");
  std::vector<int> ring(40);
  const std::string folded = placement_text(packed_placement(boxes(20), 2), {ring});
  CHECK(occurrences(folded, "  rank") == 7);
  CHECK_THAT(folded, ContainsSubstring("  ... 13 more such lines\n  ranks 38-39: node19.gpu0-1\n"));
  CHECK_THAT(folded, ContainsSubstring(" 0 ... 8 more\n"));
}

TEST_CASE("Graphviz draws the picture without complaint", "[topology][report]") {
  if (std::system("dot -V >/dev/null 2>&1") != 0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    test::skip("no Graphviz");
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() / "gradwire_topology_test";
  std::filesystem::create_directories(folder);
  const std::string stem = (folder / "t").string();
  std::ofstream(stem + ".dot") << topology_dot(boxes(2));
  const std::string command =
      "dot -Tsvg '" + stem + ".dot' -o '" + stem + ".svg' 2>'" + stem + ".err'";
  CHECK(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  CHECK(test::read_text(stem + ".err").empty());
  CHECK(occurrences(test::read_text(stem + ".svg"), "class=\"edge\"") == 2 * (16 + 35 + 4));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gradwire
