#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "sim/report/topology_dot.hpp"
#include "sim/report/topology_text.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/builders/single_switch.hpp"
#include "topologies/importers/smi_topo.hpp"
#include "topologies/links.hpp"

namespace gradwire {
namespace {

using Catch::ContainsSubstring;

Cluster boxes(int nodes) {
  const auto node = std::make_shared<const NodeGraph>(
      import_smi_topo(test::cube_mesh(), "m.txt",
                      {.name = "box", .gpu = "v100", .cpu = "broadwell", .source = "a test"})
          .node);
  return {std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(nodes), node),
          single_switch(4 * nodes, find_port_kind("ib_edr")->port)};
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
  // Directed pairs: 8 of two lanes and 8 of one lane each way, 12 across the sockets each way.
  CHECK_THAT(text, ContainsSubstring("NVLink x2                    16    45.00    0.60"));
  CHECK_THAT(text, ContainsSubstring("NVLink x1                    16    22.50    0.60"));
  CHECK_THAT(text, ContainsSubstring("PCIe, 6 hops + SMP           24     6.00    1.56"));
  CHECK_THAT(text, ContainsSubstring("gpu3   nic1 mlx5_1     12.00    0.60"));
  CHECK_THAT(text, ContainsSubstring("gpu1        2      X      1      1      -      2"));
  CHECK_THAT(text, ContainsSubstring("fabric single_switch: 1 switch, 12 ports of ib_edr (ib)"));
  CHECK_THAT(text, ContainsSubstring("between nodes 12.00 GB/s, 1.75 us: node0.gpu0->switch0"));
}

TEST_CASE("the drawing shows every device and link of the nodes drawn", "[topology][report]") {
  const std::string dot = topology_dot(boxes(5), 2);
  CHECK_THAT(dot, ContainsSubstring("3 more nodes not drawn"));
  CHECK_THAT(dot, ContainsSubstring("label=\"node1: box\""));
  CHECK(occurrences(dot, "node2.") == 0);
  // 2 machines x 35 links inside (16 NVLink, 18 PCIe, 1 between sockets) and 4 ports.
  CHECK(occurrences(dot, " -- ") == 2 * (35 + 4));
  CHECK(occurrences(dot, "<td>45</td>") == 2 * 8);
  CHECK(occurrences(dot, "<td>12.07</td>") == 2 * 4);
}

TEST_CASE("Graphviz draws the picture without complaint", "[topology][report]") {
  if (std::system("dot -V >/dev/null 2>&1") != 0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    WARN("skipped: no Graphviz");
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
  CHECK(occurrences(test::read_text(stem + ".svg"), "class=\"edge\"") == 2 * (35 + 4));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gradwire
