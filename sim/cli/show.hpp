#pragma once

#include <string>
#include <vector>

namespace gradwire::cli {

/// `gradwire show plan`: the groups that a scenario's strategy forms, its servers' shares, its own
/// exchanges. @param svg  file for the picture, "" for none.
/// @throws ConfigError
void show_plan(const std::string& file, const std::vector<std::string>& sets,
               const std::string& point, const std::string& svg);

/// Prints the nodes, the fabric, the ranks and the rings of a scenario, or a node or cluster file
/// without ranks; draws it into `svg` when that is not "".
/// @param file   a path, or the name of a shipped node.
/// @param point  label of the scenario's point, "" for the one with the most ranks.
void show_topology(const std::string& file, const std::vector<std::string>& sets,
                   const std::string& point, const std::string& svg);

}  // namespace gradwire::cli
