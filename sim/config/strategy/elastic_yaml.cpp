#include "sim/config/strategy/elastic_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/config/yaml/fields.hpp"

namespace gradwire::config {
namespace {

constexpr int phases_most = 100;
constexpr int workers_most = 100'000;
constexpr std::int64_t steps_most = 1'000'000'000;
constexpr int retries_most = 1000;

/// A whole number from 1 to `most` that is all of `text`; 0: it is none.
std::int64_t counted(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && rest == text.data() + text.size();
  return whole && number >= 1 && number <= most ? number : 0;
}

ElasticPhase scheduled(std::string_view part, const SourceLocation& where) {
  const std::size_t colon = std::min(part.find(':'), part.size());
  const std::int64_t size = counted(part.substr(0, colon), workers_most);
  const std::int64_t steps = counted(part.substr(std::min(colon + 1, part.size())), steps_most);
  if (size == 0 || steps == 0) {
    throw ConfigError(where, fmt::format("'schedule' has '{}'; expected size:steps, from 1 to {} "
                                         "workers and from 1 to {} steps, with commas between "
                                         "them, such as 2:100,4:50",
                                         part, workers_most, steps_most));
  }
  return {.size = static_cast<int>(size), .gpus = {}, .steps = steps, .where = where};
}

std::vector<ElasticPhase> read_schedule(const YamlValue& value) {
  const auto text = read_value<std::string>(value, "schedule");
  std::vector<ElasticPhase> phases;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    phases.push_back(scheduled(std::string_view(text).substr(begin, end - begin), value.where));
    begin = end + 1;
  }
  return phases;
}

const Fields<ElasticPhase>& phase_fields() {
  static const Fields<ElasticPhase> fields = {
      "phases",
      "steps with the same workers",
      {field("workers", &ElasticPhase::gpus,
             "numbers of GPUs, counted machine by machine, the root first",
             between(0, workers_most - 1), required),
       field("steps", &ElasticPhase::steps, "iterations", between(std::int64_t{1}, steps_most),
             required)}};
  return fields;
}

ElasticPhase read_phase(YamlMap& map) {
  ElasticPhase phase;
  phase.where = map.where();
  phase_fields().read_all(map, phase);
  if (phase.gpus.empty())
    map.fail("workers", "'workers' is missing or empty; expected a list of GPUs' numbers");
  if (std::set<int>(phase.gpus.begin(), phase.gpus.end()).size() != phase.gpus.size()) {
    map.fail("workers", "'workers' names a GPU twice; expected each once");
  }
  phase.size = static_cast<int>(phase.gpus.size());
  return phase;
}

/// Those that KungFu makes of these workers.
Placement resized(Placement workers, const ElasticPhase& phase, const std::vector<int>& gpus) {
  const auto size = static_cast<std::size_t>(phase.size);
  if (size <= workers.size()) {
    workers.resize(size);
    return workers;
  }
  std::vector<std::set<int>> used(gpus.size());
  for (const GpuRef& worker : workers)
    used[static_cast<std::size_t>(worker.node)].insert(worker.gpu);
  std::set<std::pair<std::size_t, std::size_t>> fewest;  // workers, machine
  for (std::size_t machine = 0; machine < used.size(); ++machine) {
    fewest.emplace(used[machine].size(), machine);
  }
  while (workers.size() < size) {
    const std::size_t machine = fewest.extract(fewest.begin()).value().second;
    int gpu = 0;
    while (used[machine].contains(gpu)) ++gpu;
    if (gpu >= gpus[machine]) {
      throw ConfigError(phase.where,
                        fmt::format("'schedule' asks for {} workers, and machine {}, which has the "
                                    "fewest and gets the next, has {} GPU(s); expected fewer",
                                    phase.size, machine, gpus[machine]));
    }
    used[machine].insert(gpu);
    fewest.emplace(used[machine].size(), machine);
    workers.push_back({static_cast<int>(machine), gpu});
  }
  return workers;
}

Placement named(const ElasticPhase& phase, const Placement& all) {
  Placement workers;
  for (const int gpu : phase.gpus) {
    if (static_cast<std::size_t>(gpu) >= all.size()) {
      throw ConfigError(phase.where, fmt::format("'workers' names GPU {}; expected 0 to {}", gpu,
                                                 all.size() - 1));
    }
    workers.push_back(all[static_cast<std::size_t>(gpu)]);
  }
  return workers;
}

void check_change(const Placement& before, const Placement& after, const ElasticSpec& spec,
                  const ElasticPhase& phase) {
  const std::set<GpuRef> known(before.begin(), before.end());
  const auto stays = [&known](const GpuRef& worker) { return known.contains(worker); };
  if (std::ranges::none_of(after, stays)) {
    throw ConfigError(phase.where,
                      "no worker of this phase was one before, and the model is lost; expected one "
                      "that stays");
  }
  if (!stays(after.front())) {
    throw ConfigError(phase.where,
                      "the first worker of this phase was none before, and broadcasts a model that "
                      "it does not have; expected one that stays in the first place");
  }
  if (!spec.worker_start && !std::ranges::all_of(after, stays)) {
    throw ConfigError(spec.where,
                      "'worker_start' is missing; expected the time from the start of a worker's "
                      "process until it can communicate, such as 10 s: imports, session, graph");
  }
}

const Fields<ElasticSpec>& elastic_fields() {
  static const Fields<ElasticSpec> fields = {
      "elastic",
      "a schedule of KungFu's workers",
      {{{"schedule", "this or phases",
         "as KungFu's StepBasedSchedule, \"size:steps,size:steps\", at most 100 phases: the first "
         "GPUs, machine by machine; a new worker goes to the machine with the fewest, the last "
         "ones leave"},
        [](YamlMap& map, ElasticSpec& spec) {
          if (const YamlValue* value = map.find("schedule")) spec.phases = read_schedule(*value);
        }},
       {{"phases", "this or schedule", "what follows what", list_of(mapping_of(phase_fields))},
        [](YamlMap& map, ElasticSpec& spec) {
          for (YamlMap& phase : map.maps("phases")) spec.phases.push_back(read_phase(phase));
        }},
       field("worker_start", &ElasticSpec::worker_start,
             "time from the start of a worker's process until it can communicate: imports, "
             "session, graph",
             {}, "required where one joins"),
       field("retries", &ElasticSpec::retries,
             "of each change, times that workers see different clusters and look again after 50 ms",
             between(0, retries_most))}};
  return fields;
}

}  // namespace

Section elastic_section() {
  return elastic_fields().section();
}

ElasticSpec read_elastic(const YamlValue& value) {
  YamlMap map(value, "elastic");
  if (map.has("schedule") == map.has("phases")) {
    throw ConfigError(value.where,
                      "'elastic' needs 'schedule' or 'phases'; expected one of the two");
  }
  ElasticSpec spec;
  spec.where = value.where;
  elastic_fields().read_all(std::move(map), spec);
  if (spec.phases.empty() || spec.phases.size() > phases_most) {
    throw ConfigError(value.where, fmt::format("'elastic' has {} phases; expected 1 to {}",
                                               spec.phases.size(), phases_most));
  }
  return spec;
}

std::vector<Placement> elastic_placements(const ElasticSpec& spec, const std::vector<int>& gpus) {
  const Placement all = packed_placement(gpus);
  std::vector<Placement> placements;
  for (const ElasticPhase& phase : spec.phases) {
    Placement workers;
    if (!phase.gpus.empty()) {
      workers = named(phase, all);
    } else if (placements.empty()) {
      const auto first = std::min(static_cast<std::size_t>(phase.size), all.size());
      workers.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
      workers = resized(std::move(workers), phase, gpus);
    } else {
      workers = resized(placements.back(), phase, gpus);
    }
    if (!placements.empty()) check_change(placements.back(), workers, spec, phase);
    placements.push_back(std::move(workers));
  }
  return placements;
}

}  // namespace gradwire::config
