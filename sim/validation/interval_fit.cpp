#include "sim/validation/interval_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace gradwire::validation {
namespace {

constexpr double share_above = 0.08;
constexpr double share_below = 0.02;
constexpr double miss_most = std::numbers::ln2;
constexpr double score_within = 1.002;

constexpr double least_width = 0.01;
constexpr double low_most = 0.95;
constexpr double high_most = 3;

/// Index of a width of each of doubt_widths, in the list of those to choose from.
using Choice = std::array<std::size_t, doubt_widths.size()>;

std::vector<double> widths_up_to(double most) {
  std::vector<double> widths = {0};
  for (double width = least_width; width < most; width *= 1.1) widths.push_back(width);
  widths.push_back(most);
  return widths;
}

/// One end of the rows' intervals: the two do not depend on each other.
class End {
 public:
  End(std::span<const DoubtedRow> rows, bool high)
      : high_(high), choices_(widths_up_to(high ? high_most : low_most)) {
    std::vector<double> count;
    for (const DoubtedRow& row : rows) {
      if (count.size() <= row.series) count.resize(row.series + 1);
      ++count[row.series];
    }
    for (const DoubtedRow& row : rows) {
      const double others = high ? row.others.high : row.others.low;
      Squares& one = rows_.emplace_back();
      one.beyond = high ? row.slower : -row.slower;
      one.others = others * others;
      for (std::size_t i = 0; i < one.of.size(); ++i) one.of[i] = row.of[i] * row.of[i];
      one.weight = 1 / std::sqrt(count[row.series]);
    }
  }

  [[nodiscard]] Choice fit() const {
    Choice best{};
    best.fill(choices_.size() / 2);
    double least = score(best);
    for (double before = 2 * least; least < before;) {
      before = least;
      for (std::size_t i = 0; i < best.size(); ++i) least = std::min(least, choose(best, i));
    }
    narrow(best, score_within * least);
    return best;
  }

  [[nodiscard]] double width(const Choice& choice, std::size_t index) const {
    return choices_[choice[index]];
  }

 private:
  struct Squares {
    double beyond = 0;  ///< how far the truth is on the end's side, a logarithm
    double others = 0;
    std::array<double, doubt_widths.size()> of{};
    double weight = 0;
  };

  /// Of each row's end.
  [[nodiscard]] std::vector<double> squares_of(const Choice& choice) const {
    std::vector<double> squares;
    for (const Squares& row : rows_) {
      double& sum = squares.emplace_back(row.others);
      for (std::size_t i = 0; i < choice.size(); ++i) {
        sum += row.of[i] * choices_[choice[i]] * choices_[choice[i]];
      }
    }
    return squares;
  }

  [[nodiscard]] double score(const Choice& choice) const {
    const std::vector<double> squares = squares_of(choice);
    double sum = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) sum += score(rows_[r], squares[r]);
    return sum;
  }

  [[nodiscard]] double score(const Squares& row, double squares) const {
    const double width = std::sqrt(squares);
    const double end = high_ ? std::log1p(width) : -std::log1p(-std::min(width, low_most));
    const double miss = std::clamp(row.beyond - end, 0.0, miss_most);
    return row.weight * (end + miss / (high_ ? share_above : share_below));
  }

  /// Sets one width to that of the least score, the others staying. @return the score
  double choose(Choice& choice, std::size_t index) const {
    choice[index] = 0;  // a width of 0
    const std::vector<double> rest = squares_of(choice);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t candidate = 0; candidate < choices_.size(); ++candidate) {
      const double square = choices_[candidate] * choices_[candidate];
      double sum = 0;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        sum += score(rows_[r], rest[r] + rows_[r].of[index] * square);
      }
      if (sum >= least) continue;
      least = sum;
      choice[index] = candidate;
    }
    return least;
  }

  /// Takes steps down, each the one that costs least, while the score stays within.
  void narrow(Choice& choice, double within) const {
    for (;;) {
      double least = within;
      Choice best = choice;
      for (std::size_t i = 0; i < choice.size(); ++i) {
        if (choice[i] == 0) continue;
        Choice narrower = choice;
        --narrower[i];
        const double sum = score(narrower);
        if (sum > least) continue;
        least = sum;
        best = narrower;
      }
      if (best == choice) return;
      choice = best;
    }
  }

  bool high_;
  std::vector<double> choices_;
  std::vector<Squares> rows_;
};

}  // namespace

std::vector<DoubtedRow> doubted_rows(std::span<const SeriesReport> reports) {
  std::vector<DoubtedRow> rows;
  for (std::size_t series = 0; series < reports.size(); ++series) {
    for (const Row& row : reports[series].rows) {
      if (row.role != "score" || row.doubts.empty() || !row.failure.empty()) continue;
      const double ratio = row.measured / row.predicted;
      DoubtedRow& one = rows.emplace_back();
      one.series = series;
      one.slower = std::log(row.unit == "ms" ? ratio : 1 / ratio);
      for (const Doubt& doubt : row.doubts) {
        const auto* const known = std::ranges::find(doubt_widths, doubt.width, &DoubtWidth::name);
        if (known == doubt_widths.end()) {
          one.others = together(one.others, {doubt.low, doubt.high});
        } else {
          one.of.at(static_cast<std::size_t>(known - doubt_widths.begin())) = doubt.of;
        }
      }
    }
  }
  return rows;
}

RelativeError ends_of(const DoubtedRow& row, const DoubtWidths& widths) {
  RelativeError ends = row.others;
  for (std::size_t i = 0; i < row.of.size(); ++i) {
    const RelativeError& width = widths.*doubt_widths.at(i).width;
    ends = together(ends, {row.of.at(i) * width.low, row.of.at(i) * width.high});
  }
  return ends;
}

bool holds(const DoubtedRow& row, const DoubtWidths& widths) {
  const RelativeError ends = ends_of(row, widths);
  const double ratio = std::exp(row.slower);
  return ratio >= 1 - ends.low && ratio <= 1 + ends.high;
}

DoubtWidths fit_widths(std::span<const DoubtedRow> rows) {
  const End low(rows, false);
  const End high(rows, true);
  const Choice lows = low.fit();
  const Choice highs = high.fit();
  DoubtWidths widths;
  for (std::size_t i = 0; i < doubt_widths.size(); ++i) {
    widths.*doubt_widths.at(i).width = {low.width(lows, i), high.width(highs, i)};
  }
  return widths;
}

}  // namespace gradwire::validation
