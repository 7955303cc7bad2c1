#pragma once

#include <array>
#include <vector>

namespace gradwire {

/// Gaussian process regression of mean zero over points of the plane, with the kernel
/// f^2 exp(-|x - y|^2 / (2 l^2)) and Gaussian noise.
///
/// Source: Horovod common/optim/gaussian_process.cc, which descends by L-BFGS from l = f = 1 to a
/// maximum of the likelihood; here the best pair of a grid is taken, so that nothing depends on
/// where a descent ends.
class GaussianProcess {
 public:
  using Point = std::array<double, 2>;

  /// REQUIRES: noise > 0; at least one point, as many values.
  GaussianProcess(std::vector<Point> points, std::vector<double> values, double noise);

  struct Prediction {
    double mean = 0;
    double deviation = 0;
  };
  [[nodiscard]] Prediction at(const Point& point) const;

  /// Expected improvement over the greatest mean at the points: (m - best - xi) F(z) + s p(z) with
  /// z = (m - best - xi) / s, F and p the normal distribution and its density; 0 where s is 0.
  /// Source: Horovod common/optim/bayesian_optimization.cc; xi its default.
  [[nodiscard]] double expected_improvement(const Point& point) const;

 private:
  [[nodiscard]] double kernel(const Point& a, const Point& b) const;
  /// Fits to the values with these parameters. @return the logarithm of their likelihood, without
  /// the constant.
  double fit(double length, double deviation);
  [[nodiscard]] std::vector<double> forward(std::vector<double> right) const;
  [[nodiscard]] std::vector<double> backward(std::vector<double> right) const;
  double& factor(std::size_t row, std::size_t column);
  [[nodiscard]] double factor(std::size_t row, std::size_t column) const;

  std::vector<Point> points_;
  std::vector<double> values_;
  double noise_;
  double length_ = 1;
  double deviation_ = 1;
  std::vector<double> factor_;   ///< Cholesky's, by rows: K + noise^2 = L L^T
  std::vector<double> weights_;  ///< (K + noise^2)^-1 values
  double best_ = 0;              ///< greatest mean at the points
};

}  // namespace gradwire
