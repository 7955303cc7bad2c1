#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "sim/cli/import_tables.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/node_graph.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire::cli {

/// The cluster that was measured, and the library that says which algorithm ran.
struct Measured {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CollectiveLibrary> library;
};

/// Of a scenario or cluster file. @throws ConfigError at the place in it.
[[nodiscard]] Measured read_measured(const std::string& file, const std::vector<std::string>& sets);
/// One machine by itself, under the defaults of a library of that name.
[[nodiscard]] Measured measured_machine(const NodeGraph& node, const std::string& library);

/// All series of collective tables (.yaml), outputs of nccl-tests and of our own benchmarks; of
/// tables and benchmarks their heads as well. @param notes  to append to.
/// @throws ConfigError at the place in a file, and when they are of several libraries.
[[nodiscard]] CollectiveTable read_tables(const std::vector<std::string>& files,
                                          const TableOptions& options,
                                          std::vector<std::string>& notes);

/// Samples of the series that the cluster can run; the others are reported in `notes`.
[[nodiscard]] std::vector<FitSample> read_samples(const CollectiveTable& table,
                                                  const Measured& measured,
                                                  std::vector<std::string>& notes);

}  // namespace gradwire::cli
