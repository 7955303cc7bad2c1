#include "sim/config/cluster/node_likeness.hpp"

#include <fmt/format.h>

#include <string>

#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {
namespace {

constexpr const char* like_key = "like";
constexpr const char* gpu_key = "gpu";
constexpr const char* nic_key = "nic";

std::string nvlinks_of(const GpuWires& gpu) {
  return gpu.nvlinks == 0 ? "no NVLinks" : fmt::format("{} of {}", gpu.nvlinks, gpu.nvlink);
}

/// The file's NVLinks are the other GPU's, too.
void check_nvlinks(const YamlMap& map, const std::string& from, const std::string& to) {
  const GpuWires* before = shipped_links().find_gpu(from);
  const GpuWires* after = shipped_links().find_gpu(to);
  if (before == nullptr || after == nullptr) return;
  if (before->nvlink == after->nvlink && before->nvlinks == after->nvlinks) return;
  map.fail(gpu_key, fmt::format("'{}' is '{}', which has {} where {} has {}; expected a GPU with "
                                "as many of the same",
                                gpu_key, to, nvlinks_of(*after), from, nvlinks_of(*before)));
}

}  // namespace

std::vector<KeyInfo> likeness_keys() {
  return {{like_key, "none",
           "another node file, or a name of `gradwire list topologies`, whose devices and links "
           "this machine has: what differs stands beside it"},
          {gpu_key, "its", "with `like`: `gradwire list gpus`, in place of its GPUs"},
          {nic_key, "its", "with `like`: a port's name, in place of its ports"}};
}

std::optional<NodeGraph> read_likeness(YamlMap& map) {
  const YamlValue* like = map.find(like_key);
  if (like == nullptr) return std::nullopt;
  const YamlValue& document = loaded_yaml(find_data(DataKind::node, *like, like_key));
  if (document.find(like_key) != nullptr) {
    map.fail(like_key, fmt::format("'{}' is '{}', which is itself like another; expected a machine "
                                   "whose file lists its devices",
                                   like_key, like->text));
  }
  NodeGraph node = read_node(document);
  node.ports_vary = false;
  if (map.has(gpu_key)) {
    const std::string gpu = require_data(map, gpu_key, DataKind::gpu);
    check_nvlinks(map, node.device(node.gpus().front()).model, gpu);
    for (const DeviceId id : node.gpus()) node.set_model(id, gpu);
  }
  if (map.has(nic_key)) {
    const std::string nic = map.require_choice(nic_key, shipped_links().port_names());
    for (const DeviceId id : node.nics()) node.set_model(id, nic);
  }
  return node;
}

}  // namespace gradwire::config
