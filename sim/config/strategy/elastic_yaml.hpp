#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"

namespace gradwire::config {

/// Steps that a job makes with the same workers.
struct ElasticPhase {
  int size = 1;            ///< workers
  std::vector<int> gpus;   ///< theirs, counted machine by machine; empty: as KungFu resizes
  std::int64_t steps = 1;  ///< iterations
  SourceLocation where;
};

/// `elastic:` of a scenario: a job whose number of workers changes on a schedule.
struct ElasticSpec {
  std::vector<ElasticPhase> phases;
  std::optional<Seconds> worker_start;  ///< of a worker that joins, until it can communicate
  int retries = 0;                      ///< of each change: WorkerChange's
  SourceLocation where;
};

/// Its keys.
[[nodiscard]] Section elastic_section();

/// Reads `schedule`, KungFu's StepBasedSchedule ("2:100,4:50": two workers for 100 steps, then four
/// for 50), or `phases`, a list of {workers, steps} with the numbers of GPUs; `worker_start`,
/// `retries`. At most 100 phases.
/// Source: lsds/KungFu, srcs/cpp/src/tensorflow/ops/cpu/elastic.cpp.
/// @throws ConfigError
[[nodiscard]] ElasticSpec read_elastic(const YamlValue& value);

/// The workers of each phase, in the order of their ranks. A schedule begins with the first GPUs,
/// machine by machine; a smaller cluster keeps its first workers, a larger one has each new one at
/// the machine with the fewest, the first of these (srcs/go/plan/cluster.go, Resize).
/// @param gpus  of each machine.
/// @throws ConfigError where there is no such GPU or a machine has no more; where phases have no
/// worker in common, or a new first one, so that the model would be lost (peer.go, propose, which
/// goes on with a message); where somebody joins and `worker_start` is missing.
[[nodiscard]] std::vector<Placement> elastic_placements(const ElasticSpec& spec,
                                                        const std::vector<int>& gpus);

}  // namespace gradwire::config
