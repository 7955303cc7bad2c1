#include "tests/fuzz/read_yaml.hpp"

#include "sim/config/check.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/yaml/overlay.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/report/ddp_diff.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace gradwire::fuzz {

void read_yaml(const std::string& bytes) {
  config::check_file(memory_file(bytes));
}

void read_set_option(const std::string& bytes) {
  static const config::YamlValue scenario = config::parse_yaml(
      "schema: gradwire.scenario/1\n"
      "profile: {model: resnet50, gpu: v100-sxm2-16gb, batch_per_gpu: 32, dtype: fp32}\n"
      "cluster: {node: dgx1v, nodes: 2, gpus_per_node: 2, fabric: {kind: single_switch, link: "
      "ib_edr}}\n"
      "strategy: {name: ddp}\n",
      "set.yaml");
  static_cast<void>(config::read_scenario(scenario, {config::parse_set(bytes)}));
}

void read_result(const std::string& bytes) {
  const std::string file = memory_file(bytes);
  static_cast<void>(ddp_diff(file, file));
}

}  // namespace gradwire::fuzz
