#pragma once

#include <string>
#include <vector>

namespace gradwire {

/// What a comparison printed and what it had to leave out.
struct DdpDiff {
  std::string text;
  std::vector<std::string> notes;  ///< rows and models that could not be compared, and why
};

/// Compares two result files in the layout of the PyTorch DDP benchmark's diff.py: the numbers are
/// the test file's, the difference is that of the time, negative = slower. Either file may be the
/// benchmark's own JSON, measured or written by `--ddp-json`, or our gradwire.result(s)/1.
/// @throws ConfigError when a file cannot be read or is neither.
[[nodiscard]] DdpDiff ddp_diff(const std::string& baseline, const std::string& test);

}  // namespace gradwire
