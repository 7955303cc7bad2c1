#pragma once

#include <string>

#include "sim/core/result.hpp"

namespace gradwire {

/// One prediction with what names it: all that the reporters read.
struct Point {
  std::string label;  ///< "1M/8G"; "" for a scenario without points
  std::string name;   ///< of the scenario
  std::string model;
  std::string strategy;       ///< "ddp"; "none" is one GPU without any wrapper
  std::string scenario_json;  ///< the scenario as written, a JSON object; "" counts as {}
  std::string scenario_sha256;
  RunResult result;
};

}  // namespace gradwire
