#include "sim/config/strategy/sharding_hooks_yaml.hpp"

namespace gradwire::config {

ShardingHooks shipped_sharding_hooks() {
  return shipped_set("sharding_hooks", read_sharding_hooks);
}

void read_sharding_hooks(Constants& from, ShardingHooks& to) {
  from.read("unit", "ms", to.unit);
  from.read("unit_tensor", "ms", to.unit_tensor);
  from.read("zero2_tensor", "ms", to.zero2_tensor);
  from.read("zero3_tensor", "ms", to.zero3_tensor);
}

}  // namespace gradwire::config
