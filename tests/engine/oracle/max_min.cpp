#include "tests/engine/oracle/max_min.hpp"

#include <algorithm>
#include <cstddef>

namespace gradwire {
namespace {

class Filling {
 public:
  Filling(std::span<const double> capacity, std::span<const CappedFlow> flows)
      : left_(capacity.begin(), capacity.end()), flows_(flows), rate_(flows.size(), growing) {}

  std::vector<double> solve() {
    for (std::size_t fixed = 0; fixed < flows_.size();) {
      weigh();
      const double level = next_level();
      // Found before any is fixed: fixing one changes what is left on the rows.
      std::vector<std::size_t> stopped;
      for (std::size_t f = 0; f < flows_.size(); ++f) {
        if (rate_[f] == growing && stops_at(flows_[f], level)) stopped.push_back(f);
      }
      for (const std::size_t f : stopped) fix(f, level);
      fixed += stopped.size();
    }
    return rate_;
  }

 private:
  static constexpr double growing = -1;

  void weigh() {
    weight_.assign(left_.size(), 0);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (rate_[f] != growing) continue;
      for (const RowUse& use : flows_[f].uses) weight_[use.row] += use.weight;
    }
  }

  [[nodiscard]] double row_level(std::size_t row) const {
    return weight_[row] > 0 ? left_[row] / weight_[row] : Transport::no_cap;
  }

  [[nodiscard]] double next_level() const {
    double level = Transport::no_cap;
    for (std::size_t row = 0; row < left_.size(); ++row) level = std::min(level, row_level(row));
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (rate_[f] == growing) level = std::min(level, flows_[f].cap);
    }
    return level;
  }

  [[nodiscard]] bool stops_at(const CappedFlow& flow, double level) const {
    return flow.cap <= level || std::any_of(flow.uses.begin(), flow.uses.end(), [&](RowUse use) {
             return row_level(use.row) <= level;
           });
  }

  void fix(std::size_t flow, double level) {
    rate_[flow] = level;
    for (const RowUse& use : flows_[flow].uses) {
      left_[use.row] = std::max(0.0, left_[use.row] - use.weight * level);
    }
  }

  std::vector<double> left_;
  std::span<const CappedFlow> flows_;
  std::vector<double> rate_;
  std::vector<double> weight_;
};

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacity,
                                  std::span<const CappedFlow> flows) {
  return Filling(capacity, flows).solve();
}

}  // namespace gradwire
