#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

/// Nominal Gbit/s of the fastest port of each kind on sale: 800 GbE (IEEE 802.3df-2024), XDR
/// InfiniBand (IBTA, 2023); an EFA device 400 (AWS, P6-B200: 8 of 400); Slingshot 400 (HPE).
constexpr std::array<std::pair<std::string_view, double>, 5> fastest_gbit = {
    {{"tcp", 800}, {"roce", 800}, {"ib", 800}, {"efa", 400}, {"slingshot", 400}}};
/// More connections than any library opens for a pair of ranks: NCCL stops at 64
/// (src/transport/net_socket.cc, MAX_SOCKETS).
constexpr int connections_max = 64;
/// Nobody trains over less.
constexpr BytesPerSecond bandwidth_least{125};  // 1 kbit/s

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  names.reserve(fastest_gbit.size());
  for (const auto& [name, gbit] : fastest_gbit) names.emplace_back(name);
  return names;
}

void check_speed(const YamlMap& map, const PortSpec& port) {
  constexpr double gigabit = 1e9 / 8;
  const auto* const fastest =
      std::ranges::find(fastest_gbit, port.kind, &std::pair<std::string_view, double>::first);
  if (port.bandwidth.count() <= fastest->second * gigabit) return;
  map.fail("bandwidth",
           fmt::format("'bandwidth' is {:.4g} Gbit/s, faster than any port of kind {}; expected at "
                       "most {:.0f} Gbit/s in one direction",
                       port.bandwidth.count() / gigabit, port.kind, fastest->second));
}

void refuse_connections(const YamlMap& map, const std::string& kind) {
  for (const char* key : {"connection_bandwidth", "connections"}) {
    if (!map.has(key)) continue;
    map.fail(key, fmt::format("'{}' stands in a link of kind {}; expected it with kind tcp only",
                              key, kind));
  }
}

const PortKind& named_kind(const YamlValue& value, const std::string& key) {
  const PortKind* kind = shipped_links().find_port(value.text);
  if (kind == nullptr) fail_choice(value, key, shipped_links().port_names());
  return *kind;
}

}  // namespace

void refuse_two_way(const YamlMap& link) {
  static const std::vector<std::string> words = {
      "bidirectional", "duplex", "bi_directional", "aggregate", "both_directions", "total"};
  for (const std::string& key : link.keys()) {
    if (key == "duplex_efficiency") continue;
    const bool two_way = std::ranges::any_of(
        words, [&](const std::string& word) { return key.find(word) != std::string::npos; });
    if (!two_way) continue;
    link.fail(key, fmt::format("'{}' leaves open what one direction carries; expected 'bandwidth', "
                               "the payload of one direction, which the other one has as well",
                               key));
  }
}

const Fields<PortSpec>& link_fields() {
  const auto times = between(Seconds{}, latency_most);
  static const Fields<PortSpec> fields = {
      "link",
      "a network link that you describe: payload and latency of one direction",
      {field("bandwidth", &PortSpec::bandwidth,
             "payload of one direction, at most what the fastest port of that kind has",
             at_least(bandwidth_least), required),
       field("latency", &PortSpec::latency, "from port to switch, one way", times, required),
       word("kind", &PortSpec::kind, kind_names(), "what carries messages", required),
       field("connection_bandwidth", &PortSpec::connection_bandwidth,
             "what one TCP connection carries at most (BytePS, docs/best-practice.md: about "
             "25 Gbit/s)",
             above(BytesPerSecond{})),
       field("connections", &PortSpec::connections,
             "TCP: those that NCCL opens for a pair of ranks: NCCL_SOCKET_NTHREADS x "
             "NCCL_NSOCKS_PERTHREAD (16 on AWS, 4 on GCP, else 1: "
             "src/transport/net_socket.cc); gloo and mpi open one",
             between(1, connections_max)),
       share("duplex_efficiency", &PortSpec::duplex_efficiency,
             "what both directions carry together, of twice the bandwidth (BytePS over 10 "
             "GbE pushes and pulls at 0.57-0.70 of 1.18 GB/s each way at once)",
             between(Ratio{0.5}, Ratio{1})),
       field("message_overhead", &PortSpec::message_overhead,
             "the kernel's time for a message at either end", times),
       field("late_message", &PortSpec::late_message,
             "the provider's time for a message that comes before NCCL has posted its "
             "receive, one after the other; where the sender waits for the receive "
             "(InfiniBand and RoCE) there are none",
             times),
       field("rendezvous", &PortSpec::rendezvous,
             "more that a message of several packets to GPU memory takes: the receiver reads "
             "what the first one tells of",
             times),
       field("eager", &PortSpec::eager,
             "the longest message that takes no rendezvous: it goes with the first packet",
             at_least(Bytes{}))}};
  return fields;
}

const Fields<Link>& trunk_fields() {
  static const Fields<Link> fields = {
      "trunk",
      "one cable between switches",
      {field("bandwidth", &Link::bandwidth, "payload of one direction", above(BytesPerSecond{0}),
             "as the fastest port"),
       field("latency", &Link::latency, "one way", between(Seconds{}, latency_most),
             "as the fastest port")}};
  return fields;
}

PortSpec read_port(const YamlValue& value, const std::string& key) {
  if (value.kind != YamlValue::Kind::map) return named_kind(value, key).port;
  YamlMap map(value, key);
  refuse_two_way(map);
  PortSpec port;
  port.name = "user";
  link_fields().read(map, port);
  check_speed(map, port);
  const bool tcp = port.kind == "tcp";
  if (!tcp) refuse_connections(map, port.kind);
  port.gpudirect = !tcp;
  if (map.has("gpudirect")) {
    map.fail("gpudirect",
             fmt::format("'gpudirect' stands in '{}'; expected it beside '{}'", key, key));
  }
  map.finish();
  return port;
}

Link read_trunk(YamlMap& fabric, const std::string& key, const PortSpec& port) {
  Link trunk{LinkKind::network, port.bandwidth, port.latency, /*lanes=*/1};
  const YamlValue* value = fabric.find(key);
  if (value == nullptr) return trunk;
  if (value->kind != YamlValue::Kind::map) {
    const PortSpec& named = named_kind(*value, key).port;
    trunk.bandwidth = named.bandwidth;
    trunk.latency = named.latency;
    return trunk;
  }
  YamlMap map(*value, key);
  refuse_two_way(map);
  trunk_fields().read_all(std::move(map), trunk);
  return trunk;
}

}  // namespace gradwire::config
