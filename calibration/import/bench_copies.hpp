#pragma once

#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace gradwire::calibration {

/// A size that was copied.
struct CopyRow {
  Bytes size{0};
  Seconds p50;        ///< a copy by itself
  Seconds p99;        ///< same
  Seconds pipelined;  ///< mean of copies one behind the other, as a training step queues them
};

/// Copies of one kind, at once where there are several.
struct CopySeries {
  std::string kind;       ///< h2d, d2h, both, d2d or peer
  bool pinned = true;     ///< the host's memory
  std::vector<int> gpus;  ///< that took part; of a peer copy source and destination
  int copies_at_once = 1;
  bool peer_access = false;  ///< of a peer copy: without, it goes through the host
  std::vector<CopyRow> rows;
};

struct CopyBench {
  std::string node;
  std::string gpu;
  std::vector<CopySeries> series;
};

/// time = latency + size / bandwidth, each copy's own when several run at once.
struct CopyFit {
  Seconds latency;
  BytesPerSecond bandwidth;
  double error_max = 0;  ///< largest |fitted / measured - 1|
};

/// Reads what `gradwire-bench copies` writes (schema gradwire.bench.copies/1).
/// @throws ConfigError at the place in the file.
[[nodiscard]] CopyBench read_bench_copies(const std::string& text, const std::string& file);

/// Least squares of the relative errors of pipelined times.
/// @throws SimulationError when the times do not grow with the size: no bandwidth follows.
[[nodiscard]] CopyFit fit_copies(const CopySeries& series);

}  // namespace gradwire::calibration
