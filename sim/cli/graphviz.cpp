#include "sim/cli/graphviz.hpp"

#include <stdexcept>
#include <utility>

#include "sim/cli/child_program.hpp"

namespace gradwire::cli {

std::string draw_svg(const std::string& graph) {
  ProgramOutput drawn = run_with_input({"dot", "-Tsvg"}, graph);
  if (drawn.code == cannot_run) {
    throw std::runtime_error(
        "Graphviz's 'dot' is not installed, which draws the picture; install the package "
        "'graphviz'");
  }
  if (drawn.code != 0) throw std::runtime_error("Graphviz's 'dot' could not draw the picture");
  return std::move(drawn.text);
}

}  // namespace gradwire::cli
