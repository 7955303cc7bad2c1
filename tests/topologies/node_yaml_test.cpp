#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire {
namespace {

NodeGraph read(const std::string& text) {
  return config::read_node(config::parse_yaml(text, "n.yaml"));
}

constexpr const char* pair = R"(schema: gradwire.node_topology/1
name: pair
source: "a \"test\" with \\"
host_bridges:
  - {id: bridge0, numa: 1, transit: 9.5 GB/s}
gpus:
  - {id: gpu0, model: t4}
  - {id: gpu1, model: t4}
pcie:
  - {a: gpu0, b: bridge0, bandwidth: 12 GB/s, latency: 0.45 us}
  - {a: gpu1, b: bridge0, bandwidth: 12 GB/s, latency: 0.45 us}
nvlinks:
  - {a: gpu0, b: gpu1, lanes: 3, bandwidth_per_lane: 22.5 GB/s, latency: 0.6 us}
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = pair;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_refused(const std::string& text, const std::string& part) {
  CHECK_THROWS_WITH(read(text), Catch::ContainsSubstring(part));
}

TEST_CASE("a node's YAML is read into its graph and written back as it was", "[node_yaml]") {
  const NodeGraph node = read(pair);
  CHECK(node.name == "pair");
  CHECK(node.source == "a \"test\" with \\");
  CHECK(node.device(node.gpus()[1]).model == "t4");
  CHECK(node.device(node.find("bridge0").value()).numa == 1);
  CHECK(node.resources().size() == 7);  // 3 links both ways and the bridge
  CHECK(node.nvlink_lanes(node.gpus()[0], node.gpus()[1]) == 3);
  CHECK(node.bottleneck(node.route(node.gpus()[0], node.gpus()[1])).count() == Approx(67.5e9));
  CHECK(config::write_node(node) == pair);
}

TEST_CASE("a node says how far apart its devices reach each other's memory", "[node_yaml]") {
  const std::string text = with("host_bridges:", "peer_to_peer: switch\nhost_bridges:");
  CHECK(read(pair).peer_to_peer == PeerToPeer::socket);
  CHECK(read(text).peer_to_peer == PeerToPeer::pcie_switch);
  CHECK(config::write_node(read(text)) == text);
  check_refused(with("host_bridges:", "peer_to_peer: sockets\nhost_bridges:"),
                "n.yaml:4:15: 'peer_to_peer' is 'sockets'; expected one of none, switch, bridge, "
                "socket; did you mean 'socket'?");
}

TEST_CASE("a node says what its host carries between GPUs", "[node_yaml]") {
  const std::string text = with("host_bridges:", "staged_bandwidth: 4.8 GB/s\nhost_bridges:");
  CHECK(!read(pair).staged_bandwidth);
  CHECK(read(text).staged_bandwidth.value() == BytesPerSecond{4.8e9});
  CHECK(config::write_node(read(text)) == text);
  check_refused(with("host_bridges:", "staged_bandwidth: 0 GB/s\nhost_bridges:"),
                "n.yaml:4:19: 'staged_bandwidth' is '0 GB/s'; expected a rate such as");
}

TEST_CASE("a node says its processors' memory with size, rate and source", "[node_yaml]") {
  const std::string memory = "host_memory: {size: 512 GB, bandwidth: 204.8 GB/s, source: \"x\"}\n";
  const std::string text = with("host_bridges:", memory + "host_bridges:");
  const auto read_memory = read(text).host_memory;
  REQUIRE(read_memory);
  CHECK(read_memory->size == Bytes{512'000'000'000});
  CHECK(read_memory->bandwidth.count() == Approx(204.8e9));
  CHECK(config::write_node(read(text)) == text);
  check_refused(
      with("host_bridges:",
           "host_memory: {size: 512 GB, bandwidth: 1 GB/s, source: x, of: y}\nhost_bridges:"),
      "n.yaml:4:59: unknown key 'of'; expected one of size, bandwidth, source");
}

TEST_CASE("a node says that machines of its type have other numbers of ports, too", "[node_yaml]") {
  const std::string text = with("host_bridges:", "ports_vary: true\nhost_bridges:");
  CHECK(!read(pair).ports_vary);
  CHECK(read(text).ports_vary);
  CHECK(config::write_node(read(text)) == text);
}

TEST_CASE("a machine that is like another has its links, and what differs", "[node_yaml]") {
  const std::string head = "schema: gradwire.node_topology/1\nname: mine\nsource: x\n";
  const NodeGraph like = read(head + "like: p4d\ngpu: a100-sxm4-80gb\nnic: roce_200g\n");
  CHECK(like.name == "mine");
  CHECK(like.source == "x");
  REQUIRE(like.gpus().size() == 8);
  for (const DeviceId gpu : like.gpus()) CHECK(like.device(gpu).model == "a100-sxm4-80gb");
  for (const DeviceId nic : like.nics()) CHECK(like.device(nic).model == "roce_200g");
  const NodeGraph other = read(head + "like: p4d\n");
  CHECK(other.device(other.gpus()[0]).model == "a100-sxm4-40gb");
  REQUIRE(like.resources().size() == other.resources().size());
  for (std::size_t i = 0; i < like.resources().size(); ++i) {
    CHECK(like.resources()[i].bandwidth == other.resources()[i].bandwidth);
  }
  // the ports of a stated machine are stated
  CHECK(read(head + "like: hgx_h100\n").ports_vary == false);
  CHECK(read(head + "like: hgx_h100\nports_vary: true\n").ports_vary);
}

TEST_CASE("what a machine cannot be like is told where it stands", "[node_yaml]") {
  const std::string head = "schema: gradwire.node_topology/1\nname: mine\nsource: x\n";
  check_refused(head + "like: dgx_h10\n", "n.yaml:4:7: 'like' is 'dgx_h10'");
  check_refused(head + "like: p4de\n",
                "n.yaml:4:7: 'like' is 'p4de', which is itself like another");
  check_refused(head + "like: p4d\ngpu: a100\n", "n.yaml:5:6: 'gpu' is 'a100'; expected one of");
  check_refused(head + "like: p4d\ngpu: h100-sxm5-80gb\n",
                "n.yaml:5:6: 'gpu' is 'h100-sxm5-80gb', which has 18 of nvlink4 where "
                "a100-sxm4-40gb has 12 of nvlink3; expected a GPU with as many of the same");
  check_refused(head + "like: p4d\nnic: ib_ndrr\n", "did you mean 'ib_ndr'?");
  check_refused(head + "like: p4d\ngpus:\n  - {id: gpu0, model: t4}\n",
                "n.yaml:5:1: unknown key 'gpus'");
}

TEST_CASE("an imported node comes back from its YAML with the same resources", "[node_yaml]") {
  const NodeGraph made = import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt",
                                         {.name = "box", .gpu = "v100", .source = "x"})
                             .node;
  const NodeGraph back = read(config::write_node(made));
  REQUIRE(back.resources().size() == made.resources().size());
  for (std::size_t i = 0; i < made.resources().size(); ++i) {
    const auto& a = made.resources()[i];
    const auto& b = back.resources()[i];
    CHECK(a.name == b.name);
    CHECK(a.kind == b.kind);
    CHECK(a.lanes == b.lanes);
    CHECK(b.bandwidth.count() == Approx(a.bandwidth.count()).epsilon(1e-12));
    CHECK(b.latency.count() == Approx(a.latency.count()).epsilon(1e-12));
  }
}

TEST_CASE("mistakes in a node's YAML are refused with their place", "[node_yaml]") {
  check_refused(with("b: bridge0", "b: brigde0"), "n.yaml:10:18: ");
  check_refused(with("b: bridge0", "b: brigde0"), "did you mean 'bridge0'?");
  check_refused(with("id: gpu1", "id: gpu0"),
                "n.yaml:8:10: device 'gpu0' is not new; expected a name of its own");
  check_refused(with("bandwidth: 12 GB/s", "bandwidth: 12"), "n.yaml:10:");
  check_refused(with("bandwidth: 12 GB/s", "bandwidth: 0 GB/s"), "n.yaml:10:");
  check_refused(with("bandwidth: 12 GB/s", "bandwith: 12 GB/s"), "'bandwidth'");
  check_refused(with("lanes: 3", "lanes: 0"), "n.yaml:13:");
  check_refused(with("latency: 0.6 us", "latency: 11 s"),
                "n.yaml:13:74: 'latency' is '11 s'; expected a time such as '20 us' (units s, ms, "
                "us, ns), at least 0 s, at most 10 s");
  check_refused(with("b: gpu1, lanes", "b: gpu0, lanes"),
                "n.yaml:13:18: the link ends where it begins; expected another device");
  check_refused(
      std::string(pair) +
          "  - {a: gpu1, b: gpu0, lanes: 1, bandwidth_per_lane: 20 GB/s, latency: 1 us}\n",
      "n.yaml:14:18: 'gpu1' and 'gpu0' are joined twice; expected one link of as many lanes");
  check_refused(with("node_topology/1", "node_topology/2"), "n.yaml:1:9: ");
  check_refused("schema: gradwire.node_topology/1\nname: x\nsource: y\n",
                "a node without GPUs; expected at least one");
}

TEST_CASE("a rate without its direction of time says what is expected", "[node_yaml]") {
  check_refused(with("bandwidth: 12 GB/s", "bandwidth: 25 GB"),
                "n.yaml:10:38: 'bandwidth' is '25 GB', unknown unit 'GB'; expected a rate such as "
                "'10 Gbit/s'");
  check_refused(with("bandwidth: 12 GB/s", "bandwidth: 25 GB"), "did you mean 'GB/s'?");
  check_refused(with("bandwidth: 12 GB/s, ", ""), "n.yaml:10:");
  check_refused(with("bandwidth: 12 GB/s, ", ""), "missing key 'bandwidth'");
}

TEST_CASE("a link faster than any of its kind is refused", "[node_yaml]") {
  // NVLink 5: 50 GB/s a lane; PCIe 6: 121 GB/s for 16 lanes (profiles/tables/links.yaml).
  check_refused(with("lane: 22.5 GB/s", "lane: 300 GB/s"),
                "n.yaml:13:54: 'bandwidth_per_lane' is 300 GB/s, more than one lane of any NVLink "
                "carries in one direction; expected at most 50 GB/s (nvlink5)");
  check_refused(
      with("bandwidth: 12 GB/s", "bandwidth: 128 GB/s"),
      "n.yaml:10:38: 'bandwidth' is 128 GB/s, more than any PCIe slot of 16 lanes carries "
      "in one direction; expected at most 121 GB/s (pcie6)");
  CHECK_NOTHROW(read(with("lane: 22.5 GB/s", "lane: 50 GB/s")));
  CHECK_NOTHROW(read(with("bandwidth: 12 GB/s", "bandwidth: 121 GB/s")));
  // What a host bridge passes to its NUMA node is the sum of its slots.
  std::string text = with("host_bridges:", "numa:\n  - {id: numa0}\nhost_bridges:");
  text.replace(text.find("nvlinks:"), 0,
               "  - {a: bridge0, b: numa0, bandwidth: 400 GB/s, latency: 0.15 us}\n");
  CHECK_NOTHROW(read(text));
}

TEST_CASE("a processor and a port must be known, a GPU need not be", "[node_yaml]") {
  check_refused(with("pcie:\n", "nics:\n  - {id: mlx5_0, model: ib_edrr}\npcie:\n"),
                "n.yaml:10:25: 'model' is 'ib_edrr'");
  check_refused(with("host_bridges:", "numa:\n  - {id: numa0, model: amdx}\nhost_bridges:"),
                "did you mean 'amd'?");
  CHECK_NOTHROW(read(with("gpu1, model: t4", "gpu1, model: t9000")));
}

TEST_CASE("an island among GPUs and a NIC without a path are refused at the device",
          "[node_yaml]") {
  std::string island = with("host_bridges:\n", "host_bridges:\n  - {id: far}\n");
  island.replace(island.find("a: gpu1, b: bridge0"), 19, "a: gpu1, b: far");
  island.erase(island.find("nvlinks:"));
  check_refused(
      island,
      "n.yaml:9:10: no path from 'gpu0' to 'gpu1'; expected links that join every GPU and "
      "NIC of the node (nothing passes through a GPU or a NIC)");
  const std::string lonely = with("pcie:\n", "nics:\n  - {id: mlx5_0, model: ib_edr}\npcie:\n");
  check_refused(lonely, "n.yaml:10:10: no path from 'gpu0' to 'mlx5_0'");
  // NVLink alone joins a pair, but nothing passes through a GPU.
  std::string behind =
      with("  - {id: gpu1, model: t4}\n", "  - {id: gpu1, model: t4}\n  - {id: gpu2, model: t4}\n");
  behind += "  - {a: gpu1, b: gpu2, lanes: 1, bandwidth_per_lane: 22.5 GB/s, latency: 0.6 us}\n";
  check_refused(behind, "n.yaml:9:10: no path from 'gpu0' to 'gpu2'");
}

TEST_CASE("the shipped dgx1v reads as a hybrid cube mesh with four NICs", "[node_yaml]") {
  const NodeGraph node = config::read_node(
      config::load_yaml((test::source_dir() / "topologies" / "nodes" / "dgx1v.yaml").string()));
  CHECK(node.name == "dgx1v");
  REQUIRE(node.gpus().size() == 8);
  CHECK(node.nics().size() == 4);
  for (const DeviceId gpu : node.gpus()) {
    int lanes = 0;
    for (const DeviceId peer : node.gpus()) lanes += peer == gpu ? 0 : node.nvlink_lanes(gpu, peer);
    CHECK(lanes == 6);  // all NVLinks of a V100
  }
}

}  // namespace
}  // namespace gradwire
