#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_dir.hpp"

namespace gradwire::test {

/// A row of docs/collective_choices.md: where NCCL takes one way though another takes less time.
struct NamedChoice {
  std::string taken;   ///< "ring simple"; "ring": by any protocol
  std::string faster;  ///< the same
  std::string evidence;
};

/// The rows of the page's table, below the one that begins with "| NCCL takes |".
inline std::vector<NamedChoice> named_choices() {
  std::ifstream page(GRADWIRE_SOURCE_DIR "/docs/collective_choices.md");
  std::vector<NamedChoice> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| NCCL takes |")) in_table = true;
    if (!in_table || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      cell.erase(std::remove(cell.begin(), cell.end(), '`'), cell.end());
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    // The first is what stands before the first bar.
    rows.push_back({cells.at(1), cells.at(2), cells.at(4)});
  }
  return rows;
}

inline bool is_way(const std::string& named, const std::string& way) {
  return way == named || way.substr(0, way.find(' ')) == named;
}

inline bool is_named(const std::vector<NamedChoice>& rows, const std::string& taken,
                     const std::string& faster) {
  return std::ranges::any_of(rows, [&](const NamedChoice& row) {
    return is_way(row.taken, taken) && is_way(row.faster, faster);
  });
}

}  // namespace gradwire::test
