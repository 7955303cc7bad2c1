#pragma once

#include <span>
#include <string>

#include "sim/report/point.hpp"

namespace gradwire {

/// The table of the PyTorch DDP benchmark (benchmarks/distributed/ddp/benchmark.py), one block a
/// run of points with the same model and batch size: p50, p75, p90, p95 of all ranks' iterations
/// pooled, and the examples per second of one GPU, truncated. Under each block stand our own
/// figures, one line a point: throughput of all GPUs, scaling efficiency, exposed communication,
/// and the interval that bounds the predicted p50; and of text tokens a second, TFLOP/s, MFU, HFU,
/// memory, and what a GPU does of what one does of the block's fewest that hold the job.
[[nodiscard]] std::string ddp_table(std::span<const Point> points);

/// All that the benchmark itself prints: its banner with what it says of the job, and the rows of
/// each model. Where it prints `nvidia-smi topo -m`, the machine is named.
[[nodiscard]] std::string ddp_benchmark_text(std::span<const Point> points);

}  // namespace gradwire
