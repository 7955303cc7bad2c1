#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/strategy/contenders.hpp"
#include "sim/config/yaml/overlay.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/refusal.hpp"
#include "sim/core/result.hpp"
#include "sim/core/scenario.hpp"
#include "sim/core/worker_class.hpp"
#include "sim/cost/collective_library.hpp"
#include "strategies/strategy.hpp"

namespace gradwire::config {

/// Of a job whose number of workers changes: the steps between two changes.
struct ElasticStage {
  std::int64_t steps = 1;
  int machines = 1;  ///< of the cluster, with workers or without
  Seconds worker_start{};
  int retries = 0;  ///< WorkerChange's
};

/// A time of an iteration on one GPU that was measured under a strategy: the profile's, until what
/// the strategy costs there is taken off.
struct TimedUnder {
  Seconds time{};
  int micro_batches = 1;
  std::function<std::unique_ptr<Strategy>(const JobView&)> make_strategy;
};

/// A scenario file read, checked and turned into domain types.
struct Scenario {
  std::string label;  ///< of the point, "" for the file itself
  std::string name;
  std::optional<ComputeProfile> profile;  ///< absent only where the command needs none
  std::optional<TimedUnder> timed_under;
  GpuSpec gpu;
  WorkerClasses classes;  ///< of ranks on other GPUs than those of rank 0
  std::shared_ptr<const Cluster> cluster;
  Placement placement;
  std::vector<int> servers;  ///< machine of each parameter server
  std::string strategy_name;
  std::function<std::unique_ptr<Strategy>(const JobView&)> make_strategy;
  std::shared_ptr<const CollectiveLibrary> library;
  JitterSpec jitter;
  std::vector<StragglerSpec> stragglers;
  std::vector<InputSpec> uneven_inputs;
  RunSpec run;
  int grad_accumulation = 1;
  std::optional<ElasticStage> elastic;
  std::vector<Warning> warnings;
  /// Where the keys stand that choose the strategy, the library and the cluster, for refusals of
  /// them; a library that nobody chose stands where the strategy does.
  std::map<UnsupportedConfiguration::Key, SourceLocation> places;
  std::string json;    ///< the scenario as written, defaults not filled in, as a JSON object
  std::string sha256;  ///< of `json`
};

enum class Needs { everything, cluster_only };

/// Reads a scenario file. @param sets  "dotted.key=value" overrides from the command line.
/// @throws ConfigError with the place in the file (or "--set" and the position of the override).
/// @return one scenario, or with `points` one a point, with `elastic` one a phase (in order), each
///         with its label.
[[nodiscard]] std::vector<Scenario> read_scenario(const std::string& file,
                                                  const std::vector<std::string>& sets,
                                                  Needs needs = Needs::everything);

/// Reads a scenario that stands in a file of another kind: `yaml` with `changes` put into it.
/// @throws ConfigError with the place in that file, or of the change.
[[nodiscard]] Scenario read_scenario(YamlValue yaml, const std::vector<Override>& changes);

struct ScenarioDocument;

/// One combination of a sweep file's `vary` axes: dotted key -> value as written, in axis order.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;
/// The Cartesian product of `vary`, last axis fastest. Empty when the file has no `vary`.
[[nodiscard]] std::vector<SweepPoint> sweep_points(const std::string& file,
                                                   const std::vector<std::string>& sets);
/// The scenario of one combination.
[[nodiscard]] Scenario read_sweep_point(const std::string& file,
                                        const std::vector<std::string>& sets,
                                        const SweepPoint& point);
/// The same of a document that has been read: many points of one file cost its reading once.
[[nodiscard]] Scenario read_sweep_point(const ScenarioDocument& document, const SweepPoint& point);

/// The labels of the scenario's points, in order; one "" for a file without points.
[[nodiscard]] std::vector<std::string> point_labels(const std::string& file,
                                                    const std::vector<std::string>& sets);

/// The scenario, or its point of that label ("" where it has no points), under another strategy;
/// the label becomes the contender's name. Another strategy that cannot go with the scenario's
/// `compression` runs without it, and a warning "compression-left-out" says so. A file that says
/// nothing about `run.iterations` or `run.warmup` gets those of `fallback`.
[[nodiscard]] Scenario read_contender(const std::string& file, const std::vector<std::string>& sets,
                                      const std::string& label, const Contender& contender,
                                      const RunSpec& fallback);

}  // namespace gradwire::config
