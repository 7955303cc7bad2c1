#pragma once

#include <optional>
#include <vector>

#include "sim/config/yaml/fields.hpp"

namespace gradwire::config {

/// Where a job's parameter servers are: `servers:` of a strategy that has them.
struct ServerSpec {
  enum class Where {
    colocated,  ///< on the workers' machines, in turn
    separate,   ///< on machines of their own, like the first of the workers', without GPUs in use
    mixed,      ///< one on each of the workers' machines, the rest on machines of their own
  };
  std::optional<int> count{};  ///< default: as many as the workers' machines
  Where where = Where::colocated;
  int per_machine = 1;  ///< on a machine of their own

  /// Machines beside those of the workers.
  [[nodiscard]] int extra_machines(int machines) const;
  /// The machine of each server; the workers' come first.
  [[nodiscard]] std::vector<int> machines_of(int machines) const;
};

/// The keys of `servers`.
[[nodiscard]] const Fields<ServerSpec>& servers_fields();

/// Reads `servers: {count:, placement: colocated | separate | mixed, per_machine:}` of a strategy;
/// the defaults where it is absent.
[[nodiscard]] ServerSpec read_servers(YamlMap& strategy);

}  // namespace gradwire::config
