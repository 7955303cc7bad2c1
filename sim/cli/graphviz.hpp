#pragma once

#include <string>

namespace gradwire::cli {

/// Draws a graph in the DOT language by running Graphviz's `dot -Tsvg`.
/// @throws std::runtime_error when `dot` is not installed or fails.
[[nodiscard]] std::string draw_svg(const std::string& graph);

}  // namespace gradwire::cli
