#include "sim/cli/show.hpp"

#include <memory>
#include <utility>

#include "sim/cli/graphviz.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/collectives/planners.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/report/placement_text.hpp"
#include "sim/report/topology_dot.hpp"
#include "sim/report/topology_text.hpp"

namespace gradwire::cli {
namespace {

struct Shown {
  std::shared_ptr<const Cluster> cluster;
  Placement placement;  ///< empty where the file places no ranks
};

Shown read(const std::string& argument, const std::vector<std::string>& sets,
           const std::string& label) {
  const std::string file = data_argument(config::DataKind::node, argument);
  const std::string schema = schema_of(file);
  if (schema == scenario_schema) {
    const auto points = config::read_scenario(file, sets, config::Needs::cluster_only);
    const config::Scenario& point = choose_point(points, label, file);
    return {point.cluster, point.placement};
  }
  refuse_changes(argument, sets, label);
  const config::YamlValue& document = config::loaded_yaml(file);
  if (schema == "gradwire.cluster_topology/1") {
    const config::ClusterSpec spec = config::read_cluster_topology(document);
    if (spec.cluster) return {spec.cluster, {}};
    throw ConfigError(document.where,
                      "this network has no 'groups' of nodes; expected a scenario that names it as "
                      "'fabric: {topology: ...}'");
  }
  const auto node = std::make_shared<const NodeGraph>(config::read_node(document));
  return {std::make_shared<const Cluster>(std::vector{node}, Fabric{}), {}};
}

}  // namespace

void show_topology(const std::string& file, const std::vector<std::string>& sets,
                   const std::string& point, const std::string& svg) {
  const Shown shown = read(file, sets, point);
  // Drawn first: without Graphviz nothing is printed.
  std::string picture = svg.empty() ? "" : draw_svg(topology_dot(*shown.cluster));
  print_text(topology_text(*shown.cluster));
  if (!shown.placement.empty()) {
    const Pattern rings = plan_ring_all_reduce(*shown.cluster, shown.placement);
    print_text(placement_text(shown.placement, ring_orders(rings)));
  }
  write_outputs({{svg, [&] { return std::move(picture); }}});
}

}  // namespace gradwire::cli
