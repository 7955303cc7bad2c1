#include "sim/config/collective/constant_sets.hpp"

#include <algorithm>

#include "sim/config/catalogue.hpp"
#include "sim/config/collective/host_library_constants_yaml.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "sim/config/strategy/sharding_hooks_yaml.hpp"
#include "sim/config/strategy/tensorflow_servers_yaml.hpp"

namespace gradwire::config {
namespace {

/// A reader into a value that nobody keeps.
template <class T, void (*read)(Constants&, T&)>
void read_into(Constants& constants) {
  T value;
  read(constants, value);
}

}  // namespace

const std::vector<ConstantSet>& constant_sets() {
  static const std::vector<ConstantSet> sets = {
      {"nccl", read_into<NcclConstants, read_nccl_measured>},
      {"nccl_release", read_into<NcclConstants, read_nccl_release>},
      {"nccl_generation", read_into<NcclGeneration, read_nccl_generation>},
      {"mpi", read_into<MpiConstants, read_mpi_constants>},
      {"gloo", read_into<GlooConstants, read_gloo_constants>},
      {"cpu", read_into<HostCpu, read_cpu_constants>, true},
      {"offload", read_into<HostOffloadRates, read_offload_constants>, true},
      {"kernels", read_into<KernelConstants, read_kernel_constants>, true},
      {"memory", read_into<MemoryConstants, read_memory_constants>, true},
      {"profile_errors", read_into<ProfileErrors, read_profile_errors>, true},
      {"doubts", read_into<DoubtWidths, read_doubts>, true},
      {"tensorflow_servers", read_into<TensorflowServers, read_tensorflow_servers>},
      {"sharding_hooks", read_into<ShardingHooks, read_sharding_hooks>},
  };
  return sets;
}

Constants read_constants(const YamlValue& document) {
  YamlMap map(document);
  const std::string set = map.require_choice("set", names_of(constant_sets()));
  Constants constants(document);
  std::ranges::find(constant_sets(), set, &ConstantSet::name)->read(constants);
  constants.finish();
  return constants;
}

}  // namespace gradwire::config
