#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// What the tries of one method gave in one task, by number of GPUs: samples/s of all of them.
struct DdlBenchmarksTries {
  std::string rdma;        ///< setting, or the link's name where the benchmark does not know it
  std::string connection;  ///< as plots.py calls it
  std::string model;
  std::string batch;
  std::string method;     ///< the preset's name behind "ddl_benchmarks/", or the strategy's
  double single_gpu = 0;  ///< samples/s of the profile
  std::map<int, std::vector<double>> rates;

  /// "resnet50_64", as benchmarks.py calls it.
  [[nodiscard]] std::string task() const;
  /// "ResNet-50", as plots.py calls it.
  [[nodiscard]] std::string dnn() const;
};

/// In the order in which they come; rows that failed are left out, and rows that differ in the seed
/// alone are tries of one.
[[nodiscard]] std::vector<DdlBenchmarksTries> ddl_benchmarks_tries(const ResultRows& rows);

/// Of the population, as numpy's std; 0 of one.
[[nodiscard]] double population_deviation(const std::vector<double>& tries);

}  // namespace gradwire
