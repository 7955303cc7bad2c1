#pragma once

#include <array>
#include <cstddef>

namespace gradwire {

/// Weighted sums of a linear model y = sum of x[i] * w[i], from which its best weights follow.
/// @tparam terms  number of weights, few: the search tries all their subsets.
template <std::size_t terms>
class LeastSquares {
 public:
  using Row = std::array<double, terms>;

  void add(const Row& x, double y) {
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) products_[i][j] += x[i] * x[j];
      targets_[i] += x[i] * y;
    }
    square_ += y * y;
  }

  struct Solution {
    Row weights{};
    double residual = 0;  ///< sum of squares
    int used = 0;         ///< weights that are not 0
  };

  /// The weights >= 0 of least squares: the best of the solutions of all subsets that has none
  /// below 0. Terms that no row has stay 0.
  [[nodiscard]] Solution non_negative() const {
    Solution best{{}, square_, 0};
    for (unsigned subset = 1; subset < (1U << terms); ++subset) {
      Row weights{};
      if (!solve(subset, weights)) continue;
      const double residual = residual_of(weights);
      if (residual >= best.residual) continue;
      best = {weights, residual, 0};
      for (const double weight : weights) best.used += weight > 0 ? 1 : 0;
    }
    return best;
  }

 private:
  /// Gauss-Jordan elimination of the normal equations of a subset.
  /// @return false where they have no solution, or one with a weight below 0.
  [[nodiscard]] bool solve(unsigned subset, Row& weights) const {
    std::array<std::size_t, terms> chosen{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < terms; ++i) {
      if ((subset >> i & 1U) != 0) chosen[count++] = i;
    }
    std::array<std::array<double, terms + 1>, terms> system{};
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t column = 0; column < count; ++column) {
        system[row][column] = products_[chosen[row]][chosen[column]];
      }
      system[row][count] = targets_[chosen[row]];
    }
    for (std::size_t step = 0; step < count; ++step) {
      // The sums are of a positive semidefinite matrix: its diagonal is a safe pivot, unless terms
      // depend on each other, which a smaller subset then stands for.
      const double pivot = system[step][step];
      if (!(pivot > relative_pivot * products_[chosen[step]][chosen[step]])) return false;
      for (std::size_t row = 0; row < count; ++row) {
        if (row == step) continue;
        const double factor = system[row][step] / pivot;
        for (std::size_t column = step; column <= count; ++column) {
          system[row][column] -= factor * system[step][column];
        }
      }
    }
    for (std::size_t row = 0; row < count; ++row) {
      const double weight = system[row][count] / system[row][row];
      if (weight < 0) return false;
      weights[chosen[row]] = weight;
    }
    return true;
  }

  [[nodiscard]] double residual_of(const Row& weights) const {
    double residual = square_;
    for (std::size_t i = 0; i < terms; ++i) {
      residual -= 2 * weights[i] * targets_[i];
      for (std::size_t j = 0; j < terms; ++j) residual += weights[i] * weights[j] * products_[i][j];
    }
    return residual > 0 ? residual : 0;  // rounding
  }

  /// Pivots smaller than this, relative to their term's own square, are rounding.
  static constexpr double relative_pivot = 1e-10;

  std::array<Row, terms> products_{};
  Row targets_{};
  double square_ = 0;
};

}  // namespace gradwire
