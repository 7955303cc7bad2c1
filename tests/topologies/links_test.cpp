#include "topologies/links.hpp"

#include <memory>
#include <string>
#include <vector>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire {
namespace {

TEST_CASE("every port that a scenario may name is there, with a source", "[links]") {
  const std::vector<std::string> names = {
      "eth_1g",    "eth_10g",    "eth_25g",    "azure_nc",     "eth_40g",
      "eth_100g",  "roce_100g",  "ib_fdr",     "ib_edr",       "ib_hdr",
      "ib_ndr",    "efa_100g",   "efa_p4d",    "ena_25g",      "ena_25g_apart",
      "ena_100g",  "ipoib_100g", "ib_xdr",     "roce_200g",    "roce_400g",
      "roce_800g", "tcpx_200g",  "tcpxo_200g", "slingshot_11", "slingshot_11_alt_read"};
  CHECK(config::shipped_links().port_names() == names);
  for (const PortKind& kind : config::shipped_links().ports) {
    INFO(kind.port.name);
    CHECK(kind.port.bandwidth < kind.nominal);
    CHECK(kind.port.bandwidth.count() > 0);
    CHECK(kind.port.latency.count() > 0);
    CHECK_FALSE(kind.source.empty());
    CHECK(config::shipped_links().find_port(kind.port.name) == &kind);
    const bool known = kind.port.kind == "tcp" || kind.port.kind == "roce" ||
                       kind.port.kind == "ib" || kind.port.kind == "efa" ||
                       kind.port.kind == "slingshot";
    CHECK(known);
    CHECK(kind.port.gpudirect == (kind.port.kind != "tcp"));
    CHECK((kind.port.late_message > Seconds{}) == (kind.port.name == "slingshot_11"));
    const bool reads = kind.port.name == "efa_p4d" || kind.port.kind == "slingshot";
    CHECK((kind.port.rendezvous > Seconds{}) == reads);
    CHECK((kind.port.eager > Bytes{}) == reads);
  }
  CHECK(config::shipped_links().find_port("ib_gdr") == nullptr);
  // 20 us from application to application over TCP (Hurwitz and Feng), half at each end.
  const PortSpec& tcp = config::shipped_links().find_port("eth_10g")->port;
  CHECK((tcp.latency + tcp.message_overhead).count() == Approx(10e-6));
  CHECK(tcp.latency == config::shipped_links().find_port("roce_100g")->port.latency);
  CHECK(config::shipped_links().find_port("eth_100g")->port.connection_bandwidth ==
        BytesPerSecond{25e9 / 8});
  // 96.6 Gbit/s; 1448 / 1538 of 10 Gbit/s.
  CHECK(config::shipped_links().find_port("ib_edr")->port.bandwidth.count() ==
        Approx(96.6e9 / 8).epsilon(1e-3));
  CHECK(config::shipped_links().find_port("eth_10g")->port.bandwidth.count() ==
        Approx(1.25e9 * 1448 / 1538));
}

TEST_CASE("a GPU's wires are those of the longest name that begins its model", "[links]") {
  CHECK(config::shipped_links().find_gpu("v100-sxm2-32gb")->nvlinks == 6);
  CHECK(config::shipped_links().find_gpu("v100-pcie-32gb")->nvlinks == 0);
  CHECK(config::shipped_links().find_gpu("a100-sxm4-40gb")->nvlink == "nvlink3");
  CHECK(config::shipped_links().find_gpu("a10")->nvlinks == 0);
  CHECK(config::shipped_links().find_gpu("k100") == nullptr);
  for (const std::string& model : config::shipped_links().gpu_names()) {
    const GpuWires* wires = config::shipped_links().find_gpu(model);
    REQUIRE(wires != nullptr);
    CHECK(wires->model == model);  // no shorter name stands before it
    CHECK(config::shipped_links().find_wire(wires->pcie) != nullptr);
    CHECK((wires->nvlink.empty() || config::shipped_links().find_wire(wires->nvlink) != nullptr));
  }
}

TEST_CASE("between two machines over EDR a byte takes what was measured between GPUs", "[links]") {
  const auto node = std::make_shared<const NodeGraph>(
      import_smi_topo(config::shipped_links(), test::cube_mesh(), "m.txt",
                      {.name = "box", .gpu = "v100", .source = "x"})
          .node);
  const Cluster cluster({node, node},
                        single_switch(8, config::shipped_links().find_port("ib_edr")->port));
  std::vector<LinkId> path;
  cluster.append_route({0, 3}, {1, 6}, path);
  REQUIRE(path.size() == 6);
  double latency = 0;
  for (const LinkId id : path) latency += cluster.links()[static_cast<std::size_t>(id)].latency;
  CHECK(latency == Approx(1.75e-6));  // perftest pull request 98: 1.7-1.8 us
  CHECK(cluster.link_name(path[2]) == "node0.nic1.up");
  CHECK(cluster.link_name(path[3]) == "node1.nic3.down");
}

}  // namespace
}  // namespace gradwire
