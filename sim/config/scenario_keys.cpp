#include "sim/config/scenario_keys.hpp"

#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/ranks_yaml.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/profile/profile_key.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/strategy/elastic_yaml.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"

namespace gradwire::config {
namespace {

ValueInfo text() {
  return value_info<std::string>();
}

/// A scenario's key with those that it stands under: `strategy.bucket_cap`.
KeyInfo dotted_key(const std::string& doc) {
  return {"DOTTED.KEY", "none", doc, {.type = ValueInfo::Type::any}};
}

Section point_section() {
  return {.name = "points",
          .summary = "jobs of a table: each changes what its dotted keys name",
          .keys = {{"label", "`point 1`, ...", "of its row"}},
          .others = dotted_key("its value in this point")};
}

Section world_sizes_section() {
  return {"world_sizes",
          "points by numbers of GPUs",
          {{"world_sizes", required,
            "`auto`: one GPU without the strategy, 1, 2, 4 ... GPUs of a machine, then 1, 2, 3 ... "
            "whole machines, as PyTorch's DDP benchmark; or those numbers",
            either(among({"auto"}), list_of(value_info(at_least(1))))}}};
}

Section vary_section() {
  return {.name = "vary",
          .summary = "axes of a sweep: dotted keys, each with a list of values",
          .keys = {},
          .others = dotted_key("its values")};
}

}  // namespace

Section scenario_section() {
  return {
      "scenario",
      "the keys of a scenario",
      {{"name", "the file's name", "of the job, in tables and results"},
       {"profile", "required, but for `collective` and `show topology`",
        "what one GPU does in an iteration", either(text(), mapping_of(profile_section))},
       {"gpu", "the GPU's own", "other constants of that GPU", mapping_of(gpu_override_fields)},
       {"cluster", required, "machines and their network", mapping_of(cluster_section)},
       {"elastic", "none", "a schedule of KungFu's workers", mapping_of(elastic_section)},
       {"placement", "packed",
        "which rank is where: `packed`, a machine is filled before the next; `round_robin`, a rank "
        "on each machine in turn; or all ranks' GPUs, such as node0.gpu0",
        either(among({"packed", "round_robin"}), list_of(text()))},
       {"compressor_costs", "those that ship",
        "measured coding times: a name or file of `gradwire.compressor_costs/1`, or several",
        either(text(), list_of(text()))},
       {"strategy", "required, but for `collective` and `show topology`",
        "how gradients are communicated", mapping_of(strategy_section)},
       {"collective", "nccl 2.28", "library that runs the collectives",
        mapping_of(collective_section)},
       {"run", "below", "how many iterations, from which seed", mapping_of(run_fields)},
       {"jitter", "below", "how unequal GPUs and iterations are", mapping_of(jitter_fields)},
       {"stragglers", "none", "ranks that are slower", list_of(mapping_of(straggler_fields))},
       {"uneven_inputs", "none", "ranks whose inputs end before the others'",
        list_of(mapping_of(inputs_fields))},
       {"points", "none", "several jobs in one file",
        either(list_of(mapping_of(point_section)), mapping_of(world_sizes_section))},
       {"vary", "none", "several jobs in one file, for `sweep`", mapping_of(vary_section)}}};
}

}  // namespace gradwire::config
