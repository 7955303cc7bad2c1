#include "sim/config/strategy/tensorflow_servers_yaml.hpp"

namespace gradwire::config {

TensorflowServers shipped_tensorflow_servers() {
  return shipped_set("tensorflow_servers", read_tensorflow_servers);
}

void read_tensorflow_servers(Constants& from, TensorflowServers& to) {
  from.read("variable_time", "ms", to.variable_time);
}

}  // namespace gradwire::config
