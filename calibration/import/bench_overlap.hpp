#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradwire::calibration {

/// A kind of work beside a kernel that communicates on `ctas` blocks: how much longer each takes
/// than alone (1: as long).
struct OverlapRow {
  int ctas = 0;
  double compute = 1;
  double communication = 1;
};

struct OverlapSeries {
  std::string kind;  ///< of work, as a profile names its layers
  std::vector<OverlapRow> rows;
};

struct OverlapBench {
  std::string node;
  std::string gpu;
  std::string communication;  ///< what communicated: "stand-in copy"
  std::vector<OverlapSeries> series;
};

/// Reads what `gradwire-bench overlap` writes (schema gradwire.bench.overlap/1).
/// @throws ConfigError at the place in the file.
[[nodiscard]] OverlapBench read_bench_overlap(const std::string& text, const std::string& file);

/// The slowdowns of a profile's `overlap:` while a collective holds `ctas` blocks: of each layer
/// kind that was measured, and of kinds that do the same to the GPU (conv7 and grouped_conv as conv3,
/// add and pool as act; assumed). Between two measured counts on a line; below the smallest and
/// above the largest, theirs. At least 1: what was measured faster is noise. REQUIRES: ctas >= 1.
[[nodiscard]] std::map<std::string, double> overlap_factors(const OverlapBench& bench, int ctas);

}  // namespace gradwire::calibration
