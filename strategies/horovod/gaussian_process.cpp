#include "strategies/horovod/gaussian_process.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace gradwire {
namespace {

/// Trade-off between exploring and exploiting: BayesianOptimization's default.
constexpr double xi = 0.01;
/// What Horovod adds to the variance of a prediction.
constexpr double jitter = 1e-8;
/// The grid of the kernel's parameters: powers of sqrt(2), the length up to twice the widest range
/// (100 ms), the deviation up to that of scores of 10 GB/s.
constexpr int length_steps = 17;     // 1 to 256
constexpr int deviation_steps = 29;  // 1 to 16384

double squared_distance(const GaussianProcess::Point& a, const GaussianProcess::Point& b) {
  return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<Point> points, std::vector<double> values,
                                 double noise)
    : points_(std::move(points)), values_(std::move(values)), noise_(noise) {
  assert(noise > 0 && !points_.empty() && points_.size() == values_.size());
  double likeliest = -std::numeric_limits<double>::infinity();
  std::pair<double, double> chosen{1, 1};
  for (int l = 0; l < length_steps; ++l) {
    for (int f = 0; f < deviation_steps; ++f) {
      const std::pair parameters{std::exp2(l / 2.0), std::exp2(f / 2.0)};
      const double likelihood = fit(parameters.first, parameters.second);
      if (likelihood <= likeliest) continue;
      likeliest = likelihood;
      chosen = parameters;
    }
  }
  fit(chosen.first, chosen.second);
  best_ = -std::numeric_limits<double>::infinity();
  for (const Point& point : points_) best_ = std::max(best_, at(point).mean);
}

double& GaussianProcess::factor(std::size_t row, std::size_t column) {
  return factor_[row * points_.size() + column];
}
double GaussianProcess::factor(std::size_t row, std::size_t column) const {
  return factor_[row * points_.size() + column];
}

double GaussianProcess::kernel(const Point& a, const Point& b) const {
  return deviation_ * deviation_ * std::exp(-0.5 * squared_distance(a, b) / (length_ * length_));
}

double GaussianProcess::fit(double length, double deviation) {
  length_ = length;
  deviation_ = deviation;
  const std::size_t n = points_.size();
  factor_.assign(n * n, 0);
  double log_determinant = 0;  // half of it
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      double sum = kernel(points_[row], points_[column]);
      if (row == column) sum += noise_ * noise_;
      for (std::size_t k = 0; k < column; ++k) sum -= factor(row, k) * factor(column, k);
      factor(row, column) =
          row == column ? std::sqrt(std::max(sum, jitter)) : sum / factor(column, column);
    }
    log_determinant += std::log(factor(row, row));
  }
  weights_ = backward(forward(values_));
  return -0.5 * std::inner_product(values_.begin(), values_.end(), weights_.begin(), 0.0) -
         log_determinant;
}

std::vector<double> GaussianProcess::forward(std::vector<double> right) const {
  for (std::size_t row = 0; row < right.size(); ++row) {
    for (std::size_t k = 0; k < row; ++k) right[row] -= factor(row, k) * right[k];
    right[row] /= factor(row, row);
  }
  return right;
}

std::vector<double> GaussianProcess::backward(std::vector<double> right) const {
  for (std::size_t row = right.size(); row-- > 0;) {
    for (std::size_t k = row + 1; k < right.size(); ++k) right[row] -= factor(k, row) * right[k];
    right[row] /= factor(row, row);
  }
  return right;
}

GaussianProcess::Prediction GaussianProcess::at(const Point& point) const {
  std::vector<double> covariance;
  covariance.reserve(points_.size());
  for (const Point& known : points_) covariance.push_back(kernel(known, point));
  const double mean =
      std::inner_product(covariance.begin(), covariance.end(), weights_.begin(), 0.0);
  const auto half = forward(std::move(covariance));
  const double known = std::inner_product(half.begin(), half.end(), half.begin(), 0.0);
  const double variance = deviation_ * deviation_ + jitter - known;
  return {mean, std::sqrt(std::max(variance, 0.0))};
}

double GaussianProcess::expected_improvement(const Point& point) const {
  const auto [mean, deviation] = at(point);
  if (deviation <= 0) return 0;
  const double improvement = mean - best_ - xi;
  const double z = improvement / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return improvement * below + deviation * density;
}

}  // namespace gradwire
