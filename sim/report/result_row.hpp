#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gradwire {

/// One line of a table of results: what was varied, and the gradwire.result/1 or what went wrong.
struct ResultRow {
  std::vector<std::pair<std::string, std::string>> axes;  ///< key and value as written, in order
  nlohmann::ordered_json result;
  std::string error;  ///< "" when `result` stands
};

}  // namespace gradwire
