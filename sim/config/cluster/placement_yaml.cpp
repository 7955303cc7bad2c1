#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire::config {
namespace {

/// "node1.gpu3"; nothing when the text is not like that.
std::optional<GpuRef> parse_gpu(std::string_view text) {
  const auto number = [&](std::string_view prefix) -> std::optional<int> {
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return value;
  };
  const auto node = number("node");
  const auto gpu = node ? number(".gpu") : std::nullopt;
  if (!gpu || !text.empty()) return std::nullopt;
  return GpuRef{*node, *gpu};
}

Placement read_explicit(const YamlValue& list, const Cluster& cluster) {
  Placement placement;
  for (const auto& item : list.items) {
    const auto place = parse_gpu(read_value<std::string>(item, "placement"));
    const bool there = place && place->node < cluster.node_count() &&
                       place->gpu < static_cast<int>(cluster.node(place->node).gpus().size());
    if (!there || std::ranges::find(placement, *place) != placement.end()) {
      throw ConfigError(item.where,
                        fmt::format("'placement' names '{}'{}; expected a GPU of the cluster such "
                                    "as node0.gpu0, each once",
                                    item.text, there ? " twice" : ", which is not there"));
    }
    placement.push_back(*place);
  }
  return placement;
}

}  // namespace

Placement read_placement(YamlMap& scenario, const ClusterSpec& spec) {
  static const std::vector<std::string> known = {"packed", "round_robin"};
  const YamlValue* value = scenario.find("placement");
  if (value == nullptr) return packed_placement(spec.gpus);
  if (value->kind == YamlValue::Kind::list && !value->items.empty()) {
    return read_explicit(*value, *spec.cluster);
  }
  return scenario.require_choice("placement", known) == "packed" ? packed_placement(spec.gpus)
                                                                 : round_robin_placement(spec.gpus);
}

}  // namespace gradwire::config
