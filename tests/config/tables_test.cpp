#include <string>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/core/kernel_launch.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

LinkTables links(const std::string& port) {
  return read_link_tables(
      parse_yaml("schema: gradwire.links/1\n"
                 "latencies:\n"
                 "  gpu_pcie: {value: 1 us, source: x}\n"
                 "  pcie_hop: {value: 1 us, source: x}\n"
                 "  nvlink: {value: 1 us, source: x}\n"
                 "  smp: {value: 1 us, source: x}\n"
                 "wires: []\ngpus: []\nparts: []\nforms: []\npci_devices: []\n"
                 "ports:\n  - {name: p, source: x, nominal: 1 Gbit/s, " +
                     port + "}\n",
                 "l.yaml"));
}

const std::string family =
    "schema: gradwire.decoders/1\n"
    "families:\n"
    "  - source: a paper\n"
    "    decoder: {vocabulary: 100, sequence_length: 8}\n"
    "    members:\n"
    "      - {name: a, summary: s, hidden: 64, heads: 4, ffn: 128, ";

}  // namespace

TEST_CASE("A port's end above its latency is the kernel's time for a message", "[config]") {
  // 10 us - 4 us.
  const LinkTables tables = links("kind: tcp, bandwidth: 100 MB/s, latency: 4 us, end: 10 us");
  REQUIRE(tables.ports.size() == 1);
  CHECK(tables.ports[0].port.message_overhead.count() == Approx(6e-6));
  CHECK_FALSE(tables.ports[0].port.gpudirect);
}

TEST_CASE("A file of links is refused at the place where it is wrong", "[config]") {
  CHECK_THROWS_WITH(links("kind: ib, bandwith: 1 GB/s, latency: 1 us"),
                    Catch::ContainsSubstring("l.yaml:13:55: missing key 'bandwidth'"));
  CHECK_THROWS_WITH(links("kind: tcp, bandwidth: 100 MB/s, latency: 4 us, end: 3 us"),
                    Catch::ContainsSubstring("'end' is '3 us'; expected a time"));
}

TEST_CASE("Members of a family of decoders have what the family says", "[config]") {
  const auto shapes = read_decoders(parse_yaml(family + "layers: 2}\n", "d.yaml"));
  REQUIRE(shapes.size() == 1);
  CHECK(shapes[0].vocabulary == 100);
  CHECK(shapes[0].kv_heads == 4);  // as many as heads where nothing is said
  CHECK(shapes[0].source == "a paper");
  CHECK_THROWS_WITH(read_decoders(parse_yaml(family + "layers: 0}\n", "d.yaml")),
                    Catch::ContainsSubstring("d.yaml:6:71: 'layers' is '0'"));
  CHECK_THROWS_WITH(read_decoders(parse_yaml(family + "layers: 2, kv_head: 2}\n", "d.yaml")),
                    Catch::ContainsSubstring("unknown key 'kv_head'"));
  // Three groups of keys cannot serve four heads.
  CHECK_THROWS_WITH(read_decoders(parse_yaml(family + "layers: 2, kv_heads: 3}\n", "d.yaml")),
                    Catch::ContainsSubstring("d.yaml:6:"));
}

TEST_CASE("An optimizer's step is made of its calls", "[config]") {
  const std::string text =
      "schema: gradwire.hosts/1\n"
      "frameworks:\n"
      "  - {name: f, summary: s, source: x, operators: [{forward: 1 us, backward: 2 us}],\n"
      "     cast: {forward: 1 us, backward: 1 us}}\n"
      "step: {collecting: 3 us, foreach_call: 2 us, zeroing: 1 us, fused_call: 5 us}\n"
      "optimizers:\n"
      "  - {name: o, bytes: 24, fused_bytes: 12, graph_bytes: 12, state_bytes: 4, list_bytes: 4,\n"
      "     host_bytes: 24, host_fused_bytes: 12, deepspeed: false, source: x, ";
  const HostTables tables =
      read_hosts(parse_yaml(text + "loop: 7 us, foreach_calls: 4}\n", "h.yaml"));
  const OptimizerKind* const kind = tables.find_optimizer("o");
  REQUIRE(kind != nullptr);
  CHECK(kind->foreach_step.count() == Approx(12e-6));  // 1 + 3 + 4 x 2
  CHECK(kind->fused.count() == Approx(9e-6));          // 1 + 3 + 5
  CHECK(kind->loop.count() == Approx(7e-6));
  CHECK(tables.clipping.count() == Approx(7e-6));  // 3 + 2 x 2
  CHECK(kind->on_host.state_bytes == 4);
  CHECK(tables.find_optimizer("q") == nullptr);
  // One time in all its forms.
  const HostTables apex = read_hosts(parse_yaml(text + "apex: 8 us}\n", "h.yaml"));
  CHECK(apex.find_optimizer("o")->foreach_step.count() == Approx(8e-6));
  CHECK_THROWS_WITH(read_hosts(parse_yaml(text + "loop: 7}\n", "h.yaml")),
                    Catch::ContainsSubstring("'loop' is '7', without a unit"));
}

TEST_CASE("A launch of NVIDIA's takes what core has for one, in the table of hosts too",
          "[config]") {
  int found = 0;
  for (const Framework& framework : shipped_hosts().frameworks) {
    for (const OperatorHost& host : framework.operators) {
      if (host.work != "linear") continue;
      CHECK(host.further == kernel_launch_call);
      ++found;
    }
  }
  CHECK(found == 2);  // PyTorch, eager and compiled
}
