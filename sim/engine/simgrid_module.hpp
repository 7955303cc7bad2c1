#pragma once

#include "sim/engine/transport.hpp"

/// What libgradwire_simgrid.so offers to simgrid_loader.cpp, which loads it when something is
/// simulated: SimGrid needs some 20 libraries, and a program that links them starts in 25 ms more.
extern "C" {
/// As make_simgrid_transport; takes the problem's content. The caller owns what it gets.
gradwire::Transport* gradwire_simgrid_transport(gradwire::FlowProblem& problem);
/// As simgrid_version.
const char* gradwire_simgrid_version();
}
