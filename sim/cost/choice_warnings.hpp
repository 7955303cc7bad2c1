#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/result.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/collective_cost.hpp"

namespace gradwire {

/// Collects what a library chose, and warns where another of its choices would have taken clearly
/// less time ("collective-choice"): once for each kind, way taken and way that is faster.
class ChoiceWarnings {
 public:
  /// A way must save so much of the time, relative, to be reported. Assumed: below it the order of
  /// two prices is not certain.
  static constexpr double saving_min = 0.05;

  /// A collective that is run `times` times.
  void add(CollectiveKind kind, Bytes size, const CollectiveCost& cost, double times = 1);

  /// Counts what was added since then `times` times more.
  void count_again(const ChoiceWarnings& since, double times);

  /// @param share  told are those that carry at least so much of the bytes of their kind, 0..1.
  /// @return of each the size at which most time is lost.
  [[nodiscard]] std::vector<Warning> warnings(double share = 0) const;

 private:
  struct Lost {
    double bytes = 0;
    Bytes size{0};  ///< where most is lost
    Seconds most;
    CollectiveCost cost;  ///< of that size
  };
  /// Kind, way taken, way that is faster.
  using Choice = std::tuple<CollectiveKind, std::string, std::string>;

  std::map<CollectiveKind, double> bytes_;
  std::map<Choice, Lost> lost_;
};

}  // namespace gradwire
