#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// A figure of ddl-benchmarks' report.
struct DdlBenchmarksChart {
  std::string file;   ///< "resnet50_64-rdma0.svg"
  std::string title;  ///< "ResNet-50 (BS=64) on 10GbE with TCP/IP"
  std::string svg;
};

/// The figures that plots.py draws: for each network and task a group of bars for each number of
/// GPUs, a bar a method, the tries' mean with their deviation either way, and above the best of a
/// group how many times one GPU's rate it is. Methods stand in the order in which they come.
[[nodiscard]] std::vector<DdlBenchmarksChart> ddl_benchmarks_charts(const ResultRows& rows);

/// Markdown that shows them, to stand under the table; "" where there are none.
[[nodiscard]] std::string ddl_benchmarks_figures(std::span<const DdlBenchmarksChart> charts);

}  // namespace gradwire
