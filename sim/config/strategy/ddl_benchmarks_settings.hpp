#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// Their names.
[[nodiscard]] const std::vector<std::string>& ddl_benchmarks_settings();

/// Settings of ddl-benchmarks' scripts in `strategy` (`dnn`, `bs`, `nworkers`, `rdma`, `senlen`,
/// which stand before ./horovod_mpi_cj.sh and ./launch.sh) become the scenario's own keys and leave
/// `strategy`; they take the place of what stands there. `dnn` is the model with the optimizer and
/// the head that its script trains; without `bs` and `senlen` those of benchmarks.py's tasks.
/// Machines have 4 GPUs (configs/cluster$nworkers). Nothing happens without such a setting.
///
/// Source: HKBU-HPML/ddl-benchmarks @565964a, mgwfbp/horovod_mpi_cj.sh, byteps/launch.sh,
/// benchmarks.py, and bert_benchmark.py of mgwfbp, bytescheduler and byteps.
/// @throws ConfigError for a value that the scripts do not know.
void translate_ddl_benchmarks_settings(YamlValue& scenario);

}  // namespace gradwire::config
