#pragma once

#include <string>
#include <vector>

#include "sim/cli/commands.hpp"

namespace gradwire::cli {

/// `calibrate fit DIR -o OUTPUT`.
struct NodeFit {
  std::string folder;
  std::string output;
  std::string cluster;  ///< of collectives on several nodes; "" where there are none
  std::vector<std::string> sets;
  int folds = 5;
};

/// Reads what was measured on a node (recordings, collectives, copies, overlap, compressors,
/// topology; each may be absent) and writes what predictions need. A recording whose checks fail is
/// refused, named with the reason, and the exit code becomes 1; the others are written.
/// @throws ConfigError at the place in a file that is damaged, and when the folder has nothing.
void fit_node(const NodeFit& options, Context& context);

}  // namespace gradwire::cli
