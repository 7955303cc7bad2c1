#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// Stale-synchronous parallel: asynchronous parameter servers (PsAsync) whose fastest worker is at
/// most `staleness` iterations ahead of the slowest; with 0 all start each iteration together.
///
/// Source: Ho et al., More effective distributed ML via a stale synchronous parallel parameter
/// server, NIPS 2013.
struct Ssp {
  static StrategyMaker read(Knobs& knobs);
};

}  // namespace gradwire
