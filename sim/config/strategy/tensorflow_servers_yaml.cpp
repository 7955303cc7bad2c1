#include "sim/config/strategy/tensorflow_servers_yaml.hpp"

namespace gradwire::config {

TensorflowServers shipped_tensorflow_servers() {
  Constants from = Constants::shipped("tensorflow_servers", "tensorflow_servers");
  TensorflowServers servers;
  read_tensorflow_servers(from, servers);
  from.finish();
  return servers;
}

void read_tensorflow_servers(Constants& from, TensorflowServers& to) {
  from.read("variable_time", "ms", to.variable_time);
}

}  // namespace gradwire::config
