#pragma once

#include "sim/config/scenario.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {

/// The keys of `run`, of `jitter`, of an item of `stragglers` and of one of `uneven_inputs`.
[[nodiscard]] const Fields<RunSpec>& run_fields();
[[nodiscard]] const Fields<JitterSpec>& jitter_fields();
[[nodiscard]] const Fields<StragglerSpec>& straggler_fields();
[[nodiscard]] const Fields<InputSpec>& inputs_fields();

/// Reads `jitter`, `stragglers` and `uneven_inputs` into a scenario whose profile, placement and
/// run are there.
/// @throws ConfigError also where no rank has inputs to the run's end.
void read_ranks(YamlMap& map, Scenario& scenario);

}  // namespace gradwire::config
