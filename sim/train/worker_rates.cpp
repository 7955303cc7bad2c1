#include "sim/train/worker_rates.hpp"

#include <cassert>
#include <cstddef>
#include <numeric>
#include <span>

namespace gradwire {
namespace {

std::span<const double> measured_of(const WorkerIterations& worker, const RunSpec& run) {
  const auto warmup = static_cast<std::size_t>(run.warmup);
  const auto iterations = static_cast<std::size_t>(run.iterations);
  assert(worker.size() >= warmup + iterations);
  return std::span(worker).subspan(warmup, iterations);
}

}  // namespace

std::vector<double> worker_rates(const std::vector<WorkerIterations>& workers, const RunSpec& run) {
  std::vector<double> rates;
  rates.reserve(workers.size());
  for (const WorkerIterations& worker : workers) {
    const auto measured = measured_of(worker, run);
    rates.push_back(run.iterations / std::accumulate(measured.begin(), measured.end(), 0.0));
  }
  return rates;
}

std::vector<double> mean_iterations(const std::vector<WorkerIterations>& workers,
                                    const RunSpec& run) {
  const std::vector<double> rates = worker_rates(workers, run);
  const double rate = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<double> means(static_cast<std::size_t>(run.iterations), 0);
  for (std::size_t worker = 0; worker < rates.size(); ++worker) {
    const auto measured = measured_of(workers[worker], run);
    const double weight = rates[worker] / rate;
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += weight * measured[i];
  }
  return means;
}

}  // namespace gradwire
