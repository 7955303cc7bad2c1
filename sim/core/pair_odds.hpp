#pragma once

namespace gradwire {

/// What predictions of two ways to run one job do not have in common. What they have (compute, the
/// network's rates) cancels; left are what no two systems are modelled alike in, and a doubt about
/// the very mechanism that tells them apart, in proportion to the difference.
///
/// Source: fitted (maximum likelihood) to the order of the pairs of rows of one job in
/// results/reference/training.md. Without any one of its series 4 to 7 % and 22 to 38 %; the page
/// counts how often what it says is true.
struct PairDoubts {
  double alone = 0.06;          ///< of the ratio of the times, relative
  double of_difference = 0.32;  ///< share of the ratio's logarithm
};

/// How likely the one that is predicted `ratio` times as fast as another is the faster one, where
/// both run the same job:
///
///   1/2 (1 + x / sqrt(2 + x^2)),  x = ln(ratio) / sqrt(alone^2 + (of_difference ln(ratio))^2)
///
/// the distribution of Student's t with two degrees of freedom: errors have long tails. Of both
/// ways round the sum is 1; it is never above the value at x = 1 / of_difference, 95.5 %.
/// REQUIRES: ratio > 0.
[[nodiscard]] double odds_of_faster(double ratio, const PairDoubts& doubts = {});

/// From here on one is said to beat another: a ratio of 1.15 and more.
inline constexpr double significant_odds = 0.90;

}  // namespace gradwire
