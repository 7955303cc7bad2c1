#include "sim/config/cluster/cluster_yaml.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/check.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/cluster_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;
using gradwire::test::ClusterFixture;

// Machines of two GPUs: 2 x 1000000 are as many as there may be, and two more are too many.
TEST_CASE_METHOD(ClusterFixture, "a cluster has at most two million GPUs", "[config][cluster]") {
  const auto groups = [](int more) {
    return fmt::format(
        "cluster: {{groups: [{{node: pair, nodes: 1000000}}, {{node: pair, nodes: {}}}], fabric: "
        "{{kind: single_switch, link: ib_edr}}}}",
        more);
  };
  CHECK(message(groups(1)) ==
        "s.yaml:2:19: the cluster has 2000002 GPUs; expected at most 2000000");
}

TEST_CASE_METHOD(ClusterFixture, "a fat tree's radix and oversubscription give its switches",
                 "[config][fabric]") {
  // Radix 6 at 2:1: 4 ports down, 2 up. 8 nodes of one NIC: 2 leaves, 2 spines.
  CHECK(size("kind: fat_tree, radix: 6, oversubscription: 2, routing: ecmp", 8) ==
        std::pair<std::size_t, std::size_t>{4, 8});
  // Nodes per leaf 6 at 1.5:1: 4 cables up, on 2 spines two each. 12 nodes: 2 leaves.
  CHECK(size("kind: fat_tree, nodes_per_leaf: 6, oversubscription: 1.5, spines: 2, routing: ecmp",
             12) == std::pair<std::size_t, std::size_t>{4, 16});
  // The k-ary fat tree with k = 4: 16 nodes, 8 + 8 + 4 switches, 32 trunks.
  CHECK(size("kind: fat_tree, levels: 3, radix: 4, routing: ecmp", 16) ==
        std::pair<std::size_t, std::size_t>{20, 64});
  // A trunk of twice a port's speed needs half as many cables: 4 down, 2 up.
  CHECK(size("kind: fat_tree, nodes_per_leaf: 4, routing: ecmp, trunk: {bandwidth: 24.14 GB/s}",
             8) == std::pair<std::size_t, std::size_t>{4, 8});
}

TEST_CASE_METHOD(ClusterFixture, "a rail's oversubscription gives its cables upward",
                 "[config][fabric]") {
  // One NIC a node, 8 nodes on two leaves of the only rail: at 2:1 each of 4 ports has 2 cables up,
  // to a spine each, in both directions.
  CHECK(size("kind: rail, nodes_per_leaf: 4, oversubscription: 2, routing: ecmp", 8) ==
        std::pair<std::size_t, std::size_t>{4, 8});
  CHECK(size("kind: rail, nodes_per_leaf: 4, routing: ecmp", 8) ==
        std::pair<std::size_t, std::size_t>{6, 16});
}

TEST_CASE_METHOD(ClusterFixture, "InfiniBand spreads flows and Ethernet hashes them by default",
                 "[config][fabric]") {
  const auto routing = [&](const std::string& link) {
    return read(with_fabric("kind: fat_tree, nodes_per_leaf: 1, link: " + link))
        .cluster->fabric()
        .routing;
  };
  CHECK(routing("ib_edr") == Routing::spread);
  CHECK(routing("efa_100g") == Routing::spread);
  CHECK(routing("roce_100g") == Routing::ecmp);
  CHECK(routing("eth_10g") == Routing::ecmp);
}

TEST_CASE_METHOD(ClusterFixture, "a fabric's bad knob is reported at its place",
                 "[config][errors]") {
  // "cluster: {node: pair, nodes: 4, fabric: " has 40 letters: the mapping begins at 41.
  CHECK(fabric_message("kind: fat_tree") ==
        "s.yaml:2:41: a fat tree needs 'radix' or 'nodes_per_leaf'; expected one of the two");
  CHECK(fabric_message("kind: fat_tree, radix: 7") ==
        "s.yaml:2:65: this gives 3.5 cables upward from a leaf; expected values that give a whole "
        "number, at least 1");
  CHECK(fabric_message("kind: fat_tree, radix: 2, routing: ecmp", 8) ==
        "s.yaml:2:65: 2 levels of switches with 2 ports join at most 2 nodes, not 8; expected a "
        "larger radix or 'levels: 3'");
  CHECK(fabric_message("kind: fat_tree, nodes_per_leaf: 4, spines: 3") ==
        "s.yaml:2:85: 'spines' is 3, which does not divide the 4 cables of a leaf upward; expected "
        "a divisor of 4");
  CHECK(fabric_message("kind: fat_tree, nodes_per_leaf: 1, rooting: ecmp") ==
        "s.yaml:2:77: unknown key 'rooting'; expected one of link, gpudirect, links_per_node, "
        "kind, levels, radix, nodes_per_leaf, oversubscription, spines, trunk, routing, ecmp_seed, "
        "topology; did you mean 'routing'?");
  CHECK(fabric_message("kind: dragonfly, groups: 3, routers_per_group: 1, global_links: 1") ==
        "s.yaml:2:106: 'global_links' is '1'; expected a whole number, at least 2, at most 4096");
  CHECK(fabric_message("kind: torus, dimensions: []") ==
        "s.yaml:2:67: 'dimensions' are of 0 switches; expected 1 to 1000000");
  CHECK(fabric_message("kind: torus, dimensions: [2], nodes_per_switch: 1") ==
        "s.yaml:2:90: 'nodes_per_switch' is '1'; expected a whole number, at least 2, at most "
        "1000000");
}

TEST_CASE_METHOD(ClusterFixture, "a link that makes no sense is reported at its place",
                 "[config][errors][link]") {
  const auto link = [&](const std::string& text) {
    return fabric_message("kind: single_switch, link: {" + text + "}");
  };
  CHECK(link("bandwidth: 900 Gbit/s, latency: 1 us, kind: tcp") ==
        "s.yaml:2:81: 'bandwidth' is 900 Gbit/s, faster than any port of kind tcp; expected at "
        "most 800 Gbit/s in one direction");
  CHECK(link("bandwidth: 25 GB, latency: 1 us, kind: ib") ==
        "s.yaml:2:81: 'bandwidth' is '25 GB', unknown unit 'GB'; expected a rate such as '10 "
        "Gbit/s' (units B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s, Gbit/s, "
        "Tbit/s); did you mean 'GB/s'?");
  CHECK(link("bandwidth: 25 GiB, latency: 1 us, kind: ib").ends_with("did you mean 'GiB/s'?"));
  CHECK(link("bidirectional_bandwidth: 25 GB/s, latency: 1 us, kind: ib") ==
        "s.yaml:2:95: 'bidirectional_bandwidth' leaves open what one direction carries; expected "
        "'bandwidth', the payload of one direction, which the other one has as well");
  CHECK(link("bandwidth: 25 GB/s, duplex: true, latency: 1 us, kind: ib")
            .starts_with("s.yaml:2:98: 'duplex' leaves open"));
  CHECK(link("bandwidth: 25 GB/s, latency: 1 us, kind: infiniband")
            .ends_with("expected one of tcp, roce, ib, efa, slingshot"));
}

TEST_CASE_METHOD(ClusterFixture, "a link says what connections, both directions and the kernel do",
                 "[config][link]") {
  const auto port = [&](const std::string& fabric) {
    return read(with_fabric("kind: single_switch, " + fabric)).cluster->fabric().port_spec(0);
  };
  const PortSpec tcp = port(
      "link: {bandwidth: 10 GB/s, latency: 1 us, kind: tcp, connection_bandwidth: 25 Gbit/s, "
      "connections: 16, duplex_efficiency: 57 %, message_overhead: 9 us}");
  CHECK(tcp.connection_bandwidth == BytesPerSecond{25e9 / 8});
  CHECK(tcp.connections == 16);
  CHECK(tcp.duplex_efficiency == Approx(0.57));
  CHECK(tcp.message_overhead.count() == Approx(9e-6));
  CHECK_FALSE(tcp.gpudirect);  // the kernel does not reach GPU memory
  CHECK(port("link: ib_edr").gpudirect);
  CHECK_FALSE(port("link: ib_edr, gpudirect: false").gpudirect);
  CHECK(port("link: slingshot_11").bandwidth.count() == Approx(24.2e9));
  CHECK(port("link: {bandwidth: 24 GB/s, latency: 1 us, kind: slingshot, late_message: 9 us}")
            .late_message.count() == Approx(9e-6));
  const PortSpec reads =
      port("link: {bandwidth: 11 GB/s, latency: 1 us, kind: efa, rendezvous: 25 us, eager: 8 KiB}");
  CHECK(reads.rendezvous.count() == Approx(25e-6));
  CHECK(reads.eager == Bytes{8192});
}

TEST_CASE_METHOD(ClusterFixture, "what a link cannot have is refused", "[config][errors][link]") {
  const auto link = [&](const std::string& text) {
    return fabric_message("kind: single_switch, link: {latency: 1 us, bandwidth: 1 GB/s, " + text +
                          "}");
  };
  CHECK(
      link("kind: ib, connections: 4")
          .ends_with("'connections' stands in a link of kind ib; expected it with kind tcp only"));
  CHECK(link("kind: tcp, connections: 65")
            .ends_with("'connections' is '65'; expected a whole number, at least 1, at most 64"));
  CHECK(link("kind: tcp, duplex_efficiency: 49 %").find("at least 50 %") != std::string::npos);
  CHECK(link("kind: tcp, connection_bandwith: 1 GB/s")
            .ends_with("did you mean 'connection_bandwidth'?"));
  CHECK(link("kind: roce, gpudirect: true")
            .ends_with("'gpudirect' stands in 'link'; expected it beside 'link'"));
  CHECK(fabric_message("kind: single_switch, link: eth_10g, gpudirect: true")
            .ends_with("'gpudirect' is true, but the kernel's TCP does not reach GPU memory; "
                       "expected false, or a link of another kind than tcp"));
}

TEST_CASE_METHOD(ClusterFixture, "times of a link are of 10 s at most, wherever they are written",
                 "[config][errors][link]") {
  const std::string bounds =
      "; expected a time such as '20 us' (units s, ms, us, ns), at least 0 s, at most 10 s";
  const std::string link =
      "kind: single_switch, link: {bandwidth: 1 GB/s, latency: 1 us, kind: ib, ";
  for (const std::string key : {"message_overhead", "late_message", "rendezvous"}) {
    CHECK(fabric_message(link + key + ": 10 s}") == "accepted");
    CHECK(fabric_message(link + key + ": 10.1 s}").ends_with("'" + key + "' is '10.1 s'" + bounds));
  }
  CHECK(fabric_message("kind: fat_tree, nodes_per_leaf: 1, link: ib_edr, trunk: {latency: 20000 s}")
            .ends_with("'latency' is '20000 s'" + bounds));
}

TEST_CASE_METHOD(ClusterFixture, "groups of nodes keep their own NICs, GPUs and numbers",
                 "[config][cluster]") {
  const Scenario s = read(
      "cluster: {groups: [{node: pair, nodes: 2}, {node: pair, nodes: 1, gpus_per_node: 1, link: "
      "eth_10g, links_per_node: 2, gpu: small-gpu}], fabric: {kind: single_switch, link: ib_edr}}");
  CHECK(s.placement == Placement{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}});
  const Fabric& fabric = s.cluster->fabric();
  REQUIRE(fabric.port_count() == 2 + 2);
  CHECK(fabric.port_spec(1).name == "ib_edr");
  CHECK(fabric.port_spec(3).name == "eth_10g");
  const NodeGraph& last = s.cluster->node(2);
  CHECK(last.device(last.gpus().front()).model == "small-gpu");
  CHECK(s.cluster->node(0).device(s.cluster->node(0).gpus().front()).model.empty());
}

TEST_CASE_METHOD(ClusterFixture, "ranks on another GPU get a derived profile of their own",
                 "[config][cluster]") {
  const std::string file = write(
      "schema: gradwire.scenario/1\n"
      "profile: tiny/small-gpu_fp32_b4\n"
      "cluster: {groups: [{node: pair}, {node: pair, gpu: big-gpu}], fabric: {kind: single_switch, "
      "link: ib_edr}}\n"
      "strategy: {name: none}\n");
  const Scenario s = read_scenario(file, {}).front();
  CHECK(s.classes.of_rank == std::vector<int>{0, 0, 1, 1});
  REQUIRE(s.classes.others.size() == 1);
  const WorkerClass& other = s.classes.others.front();
  CHECK(other.gpu.name == "big-gpu");
  CHECK(other.profile.source.kind == "derived");
  CHECK(s.profile->source.kind == "recorded");
  // Twice the memory bandwidth and four times the peak: every layer is faster, none beyond that.
  for (std::size_t l = 0; l < s.profile->layers.size(); ++l) {
    const LayerProfile& here = s.profile->layers[l];
    const LayerProfile& there = other.profile.layers[l];
    CHECK(there.forward < here.forward);
    CHECK(there.backward < here.backward);
    CHECK(4 * there.forward.count() >= here.forward.count());
  }
  REQUIRE_FALSE(s.warnings.empty());
  CHECK(s.warnings.front().text ==
        "the profile is of small-gpu, the cluster's GPUs are big-gpu; compute times are derived");

  // The size of a group is one key, and the profile does not change with it.
  const Scenario larger = read_scenario(file, {"cluster.groups.1.nodes=3"}).front();
  CHECK(larger.placement.size() == 8);
  CHECK(larger.profile->iteration == s.profile->iteration);
  CHECK(larger.classes.others.front().profile.iteration == other.profile.iteration);
}

TEST_CASE_METHOD(ClusterFixture, "a type of numbers that some GPU lacks is refused",
                 "[config][errors]") {
  const std::string file = write(
      "schema: gradwire.scenario/1\n"
      "profile: {model: resnet50, gpu: big-gpu, batch_per_gpu: 4, dtype: fp16}\n"
      "cluster: {groups: [{node: pair, gpu: big-gpu}, {node: pair, gpu: small-gpu}], fabric: "
      "{kind: "
      "single_switch, link: ib_edr}}\n"
      "strategy: {name: none}\n");
  CHECK_THROWS_WITH(read_scenario(file, {}),
                    Catch::ContainsSubstring("s.yaml:3:10: the profile is in fp16, which small-gpu "
                                             "does not have; expected a type that every GPU"));
}

TEST_CASE_METHOD(ClusterFixture, "a bad group is reported at its place", "[config][errors]") {
  const auto groups = [&](const std::string& text) {
    return message("cluster: {groups: [" + text + "], fabric: {kind: single_switch}}");
  };
  CHECK(groups("") == "s.yaml:2:19: 'groups' is empty; expected a group of nodes");
  CHECK(groups("{node: pair, gpus_per_node: 3}") ==
        "s.yaml:2:48: 'gpus_per_node' is '3'; expected a whole number, at least 1, at most 2");
  CHECK(groups("{node: pair, gpu: smal-gpu}") ==
        "s.yaml:2:38: 'gpu' is 'smal-gpu'; expected one of big-gpu, small-gpu; did you mean "
        "'small-gpu'?");
  CHECK(groups("{node: pair, nodes: 2, node_s: 1}") ==
        "s.yaml:2:43: unknown key 'node_s'; expected one of node, nodes, gpus_per_node, "
        "socket_bandwidth, peer_to_peer, staged_bandwidth, gpu, clock, power_limit, link, "
        "gpudirect, links_per_node; did you mean 'nodes'?");
  CHECK(message("cluster: {groups: [{node: pair}, {node: pair}]}") ==
        "s.yaml:2:10: missing key 'fabric'; expected one for several nodes, such as {kind: "
        "single_switch, link: ib_edr}");
}

namespace {

constexpr const char* network =
    "schema: gradwire.cluster_topology/1\n"                 // 1
    "name: two\n"                                           // 2
    "source: made up\n"                                     // 3
    "switches: [{id: a}, {id: b}, {id: c}]\n"               // 4
    "trunks:\n"                                             // 5
    "  - {a: a, b: b, bandwidth: 1 GB/s, latency: 1 us}\n"  // 6
    "ports:\n"                                              // 7
    "  - {switch: a, nodes: [0, 1]}\n"                      // 8
    "  - {switch: b, nodes: [2, 3], nics: [0]}\n";          // 9

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

}  // namespace

TEST_CASE_METHOD(ClusterFixture, "a network from a file joins a scenario's nodes",
                 "[config][fabric][file]") {
  const std::string file = write(network, "net.yaml");
  const Scenario s = read(with_fabric("topology: net.yaml, link: ib_edr"));
  const Fabric& fabric = s.cluster->fabric();
  CHECK(fabric.kind == "two");
  CHECK(fabric.route(0, 1).empty());
  CHECK(fabric.route(0, 2).size() == 1);
  CHECK_NOTHROW(check_file(file));
  const std::string whole = write(
      std::string(network) + "groups: [{node: pair, nodes: 4}]\nlink: ib_edr\n", "whole.yaml");
  CHECK_NOTHROW(check_file(whole));
  CHECK(read("cluster: {topology: whole.yaml}").placement.size() == 8);
}

TEST_CASE_METHOD(ClusterFixture, "a network that does not fit the nodes is reported at its place",
                 "[config][errors][file]") {
  const auto net = [&](const std::string& text, int nodes = 4) {
    static_cast<void>(write(text, "n.yaml"));
    return fabric_message("topology: n.yaml, link: ib_edr", nodes);
  };
  CHECK(net(network) == "accepted");
  CHECK(net(network, 3) ==
        "n.yaml:9:28: 'nodes' is '3'; expected a whole number, at least 0, at most 2");
  CHECK(net(network, 5) ==
        "n.yaml:8:3: node4.nic0 is connected to no switch; expected every NIC of the cluster in "
        "'ports'");
  CHECK(net(replaced(network, "nics: [0]", "nics: [1]")) ==
        "n.yaml:9:39: 'nics' is '1'; expected a whole number, at least 0, at most 0");
  CHECK(net(replaced(network, "[2, 3]", "[1, 2, 3]")) ==
        "n.yaml:9:42: node1.nic0 is connected to a already; expected each NIC once");
  CHECK(net(replaced(network, "b: b,", "b: d,")) ==
        "n.yaml:6:15: 'b' is 'd'; expected one of a, b, c; did you mean 'a'?");
  CHECK(net(replaced(network, "b: b,", "b: a,")) ==
        "n.yaml:6:15: the trunk ends where it begins; expected another switch");
  CHECK(net(replaced(network, "b: b,", "b: c,")) ==
        "s.yaml:2:41: node2 has no path to node0; expected a fabric that joins all nodes");
  CHECK(net(replaced(network, "1 us", "11 s")) ==
        "n.yaml:6:46: 'latency' is '11 s'; expected a time such as '20 us' (units s, ms, us, ns), "
        "at least 0 s, at most 10 s");
  CHECK(net(replaced(network, "{id: b}", "{id: a}")) ==
        "n.yaml:4:26: switch 'a' is not new; expected a name of its own that does not begin as a "
        "node's");
  CHECK(net(std::string(network) + "groups: [{node: pair}]\n")
            .ends_with("expected it under 'cluster', as 'cluster: {topology: ...}'"));
  static_cast<void>(write(network, "n.yaml"));
  CHECK(message("cluster: {topology: n.yaml}") ==
        "s.yaml:2:21: this file has no 'groups' of nodes; expected one that has, or this one as "
        "'fabric: {topology: ...}'");
}

TEST_CASE_METHOD(ClusterFixture, "ways that are not alike cannot be spread over",
                 "[config][errors][file]") {
  // From a to d by b or by c; nodes hang on b, so b and c are not alike.
  const std::string square =
      "schema: gradwire.cluster_topology/1\nname: square\nsource: made up\n"
      "switches: [{id: a}, {id: b}, {id: c}, {id: d}]\n"
      "trunks:\n"
      "  - {a: a, b: b, bandwidth: 1 GB/s, latency: 1 us}\n"
      "  - {a: a, b: c, bandwidth: 1 GB/s, latency: 1 us}\n"
      "  - {a: b, b: d, bandwidth: 1 GB/s, latency: 1 us}\n"
      "  - {a: c, b: d, bandwidth: 1 GB/s, latency: 1 us}\n"
      "ports: [{switch: a, nodes: [0, 1]}, {switch: b, nodes: [2]}, {switch: d, nodes: [3]}]\n";
  static_cast<void>(write(square, "square.yaml"));
  CHECK(fabric_message("topology: square.yaml, link: roce_100g") == "accepted");
  CHECK(fabric_message("topology: square.yaml, link: roce_100g, routing: spread") ==
        "s.yaml:2:91: 'spread' would be uneven: the equal-cost paths from a to d pass switches "
        "that are not alike; expected 'routing: ecmp'");
}

TEST_CASE_METHOD(ClusterFixture,
                 "socket_bandwidth is what a node's sockets carry, and nothing else",
                 "[config][cluster]") {
  const std::string node = write(
      "schema: gradwire.node_topology/1\nname: sockets\nsource: made up\n"
      "numa: [{id: numa0, model: skylake, numa: 0}, {id: numa1, model: skylake, numa: 1}]\n"
      "gpus: [{id: gpu0, numa: 0}, {id: gpu1, numa: 1}]\n"
      "pcie:\n"
      "  - {a: gpu0, b: numa0, bandwidth: 12 GB/s, latency: 0.45 us}\n"
      "  - {a: gpu1, b: numa1, bandwidth: 12 GB/s, latency: 0.45 us}\n"
      "cpu_links: [{a: numa0, b: numa1, bandwidth: 10 GB/s, latency: 0.06 us}]\n",
      "sockets.yaml");
  const Scenario scenario =
      read(fmt::format("cluster: {{node: {}, socket_bandwidth: 4 GB/s}}", node));
  int sockets = 0;
  for (const auto& link : scenario.cluster->node(0).resources()) {
    const bool socket = link.kind == LinkKind::smp;
    CHECK(link.bandwidth.count() == Approx(socket ? 4e9 : 12e9));
    CHECK(link.latency.count() == Approx(socket ? 0.06e-6 : 0.45e-6));
    sockets += socket ? 1 : 0;
  }
  CHECK(sockets == 2);  // a link has two directions
  CHECK(
      message("cluster: {node: pair, socket_bandwidth: 4 GB/s}") ==
      "s.yaml:2:41: 'socket_bandwidth' is given, but 'pair' has no link between sockets; expected "
      "a node with several sockets");
  CHECK(message(fmt::format("cluster: {{node: {}, socket_bandwidth: 4}}", node))
            .find("'socket_bandwidth'") != std::string::npos);
}
