#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/import/timed_calls.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire::calibration {

/// The calls of one row, the slowest rank of each counting.
struct CallTimes : TimedCalls {
  std::optional<Seconds> predicted;  ///< what the library itself expected (NCCL's simulation)
};

/// A file of our collective benchmarks, of NCCL or MPI.
struct CollectiveBench {
  std::string library;  ///< "nccl", "mpi" or "gloo"
  std::string node;     ///< "" when not written, as the next two
  std::string gpu;
  std::string dtype;
  std::string algorithm;         ///< that was forced; "" where the library chose
  std::string protocol;          ///< same
  std::vector<int> machines;     ///< of each rank, from 0
  MeasuredSeries series;         ///< time: pipelined where it was measured, else the median call
  std::vector<CallTimes> calls;  ///< of each row of the series
};

/// Reads a file of schema gradwire.bench.collectives/1: one collective on one set of ranks, with
/// one choice of algorithm. Written by gradwire-bench (NCCL) and by `calibrate bench --backend
/// mpi`.
///
///   {"schema": "gradwire.bench.collectives/1",
///    "tool": "gradwire-bench 0.1.0", "date": "2026-11-20",
///    "library": "nccl", "version": "2.28.9", "node": "gpu01", "gpu": "NVIDIA H200",   // node ..
///    network: may be absent "network": "eth_10g", "ranks": 4, "nodes": 2, "placement": [0, 0, 1,
///    1],           // machine of each rank, from 0 "op": "all_reduce", "dtype": "float32",
///    "in_place": false, "algorithm": "auto", "protocol": "auto",                     // or our
///    names: ring, ll128 "rows": [
///     {"size_bytes": 1024, "n": 50, "mean_us": 21.5, "min_us": 20.1, "p50_us": 21.4,
///      "p95_us": 22.9, "p99_us": 25.0, "max_us": 25.0,
///      "pipelined_us": 14.2, "predicted_us": 15.1, "channels": 2}]}   // these three may be absent
///
/// `op` is a name of CollectiveKind and sizes are nccl-tests' (of the whole; see there). Sizes
/// rise; each row says how `n` timed calls spread (nearest rank: the ceil(p n)-th smallest).
/// @throws ConfigError at the place in the file.
[[nodiscard]] CollectiveBench read_bench_collectives(const std::string& text,
                                                     const std::string& file);

}  // namespace gradwire::calibration
