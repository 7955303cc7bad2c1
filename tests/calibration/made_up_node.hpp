#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/calibration/made_up_recording.hpp"
#include "tests/calibration/made_up_trace.hpp"

namespace gradwire::calibration::test {

/// Period of the toy's step, in which the GPU is never idle: forward 212 us (conv 120, norm 30 and
/// its counter 2, linear 60), loss 9, backward 316, optimizer 10; see toy_step().
constexpr double toy_step_ms = 0.547;

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// A recording of the toy on one H200, as calibrate_node.sh leaves it. @param milliseconds  of an
/// iteration that nobody recorded
inline void write_toy_recording(const std::filesystem::path& folder, double milliseconds) {
  ToyOptions options;
  options.modules = true;
  const auto bytes = recording_of(toy_trace(8, options), "full");
  write_text(folder / "full.rank0.1.gwr",
             {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  write_text(folder / "workload.json", R"({"schema": "gradwire.workload/1", "model": "toy",
 "gpu": "NVIDIA H200", "batch_per_gpu": 8, "dtype": "fp32", "image_size": 4, "parameters": [
  {"name": "conv.weight", "shape": [6, 3, 3, 3]}, {"name": "bn.weight", "shape": [6]},
  {"name": "bn.bias", "shape": [6]}, {"name": "fc.weight", "shape": [10, 96]},
  {"name": "fc.bias", "shape": [10]}]})");
  std::string times;
  for (int i = 0; i < 50; ++i) {
    times += fmt::format("{}{}", i == 0 ? "" : ", ", std::llround(milliseconds * 1e6));
  }
  write_text(folder / "uninstrumented.json",
             R"({"schema": "gradwire.iterations/1", "clock": "cuda_event", "iteration_ns": [)" +
                 times + "]}");
}

/// Members of a benchmark's row whose calls all took so many microseconds.
inline std::string timed(double microseconds) {
  return fmt::format(
      R"("n": 50, "mean_us": {0:.6g}, "min_us": {0:.6g}, "p50_us": {0:.6g}, "p95_us": {0:.6g}, )"
      R"("p99_us": {0:.6g}, "max_us": {0:.6g}, "pipelined_us": {0:.6g})",
      microseconds);
}

/// Rows for sizes from `first` to `last`, each twice the one before.
inline std::string doubling_rows(std::int64_t first, std::int64_t last,
                                 const std::function<std::string(std::int64_t)>& row) {
  std::string rows;
  for (std::int64_t size = first; size <= last; size *= 2) {
    rows += (rows.empty() ? "{" : ",\n{") + row(size) + "}";
  }
  return rows;
}

/// A made-up node of two H200: round latencies and bandwidths, no measurement. Its folder is as
/// calibrate_node.sh leaves one; times in microseconds, sizes in bytes:
///   all-reduce   20 + size / 200e3    (2 ranks, so busbw = algbw = 200 GB/s)
///   copies       host to device 3 + size / 50e3
///   top-k        encode 30 + elements / 50e3, decode 10 + elements / 500e3
///   GEMM         1.10 times as long beside 16 blocks that communicate
inline void write_made_up_node(const std::filesystem::path& node) {
  const std::string tool = R"("tool": "made up", "date": "2026-11-21", "node": "made-up",)";
  write_toy_recording(node / "recordings" / "toy_fp32_b8", toy_step_ms);
  write_text(node / "topo.txt",
             "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
             "GPU0\t X \tNV18\tPIX\t0-55\t0\t\tN/A\n"
             "GPU1\tNV18\t X \tPIX\t0-55\t0\t\tN/A\n"
             "NIC0\tPIX\tPIX\t X \t\t\t\t\n"
             "\nNIC Legend:\n\n  NIC0: mlx5_0\n");
  write_text(
      node / "collectives" / "all_reduce_2.json",
      R"({"schema": "gradwire.bench.collectives/1", )" + tool +
          R"( "library": "nccl", "version": "2.28.9", "gpu": "NVIDIA H200", "ranks": 2, "nodes": 1, "placement": [0, 0],
 "op": "all_reduce", "dtype": "float32", "algorithm": "auto", "protocol": "auto", "rows": [
)" +
          doubling_rows(1024, std::int64_t{1} << 28U,
                        [](std::int64_t size) {
                          return fmt::format(R"("size_bytes": {}, "channels": 16, {})", size,
                                             timed(20 + static_cast<double>(size) / 200e3));
                        }) +
          "]}\n");
  write_text(node / "copies.json",
             R"({"schema": "gradwire.bench.copies/1", )" + tool +
                 R"( "gpu": "NVIDIA H200", "copies": [
{"kind": "h2d", "memory": "pinned", "gpus": [0], "copies_at_once": 1, "peer_access": false, "rows": [
)" +
                 doubling_rows(4096, std::int64_t{1} << 28U,
                               [](std::int64_t size) {
                                 return fmt::format(R"("size_bytes": {}, {})", size,
                                                    timed(3 + static_cast<double>(size) / 50e3));
                               }) +
                 "]}]}\n");
  write_text(node / "overlap.json", R"({"schema": "gradwire.bench.overlap/1", )" + tool +
                                        R"( "gpu": "NVIDIA H200", "multiprocessors": 132,
 "communication": "stand-in copy", "kinds": [{"kind": "linear", "work": "GEMM", "rows": [
{"ctas": 16, "n": 20, "compute_alone_us": 100, "compute_overlapped_us": 110,
 "communication_alone_bytes_per_s": 4e11, "communication_overlapped_bytes_per_s": 4e11}]}]}
)");
  write_text(node / "compressors.json",
             R"({"schema": "gradwire.bench.compressors/1", )" + tool +
                 R"( "gpu": "NVIDIA H200", "device": "gpu", "implementation": "torch",
 "memory_bandwidth_bytes_per_s": 4.8e12, "tables": [
{"compressor": "topk", "settings": "density 0.1 %", "rows": [
)" +
                 doubling_rows(1 << 16, 1 << 26,
                               [](std::int64_t elements) {
                                 const auto n = static_cast<double>(elements);
                                 return fmt::format(
                                     R"("elements": {}, "encode": {{{}}}, "decode": {{{}}})",
                                     elements, timed(30 + n / 50e3), timed(10 + n / 500e3));
                               }) +
                 "]}]}\n");
}

}  // namespace gradwire::calibration::test
