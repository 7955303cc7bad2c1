#pragma once

#include "sim/cost/collective_cost.hpp"

namespace gradwire {

/// The user's own line for every collective (library `user`): t = alpha + size * beta_per_byte,
/// whatever the ranks and the network; returned as CollectiveCost::alone.
class AlphaBeta final : public CostModel {
 public:
  /// REQUIRES: both finite and >= 0.
  AlphaBeta(Seconds alpha, Seconds beta_per_byte);

  [[nodiscard]] CollectiveCost price(const Pattern& pattern, Bytes size) const override;

 private:
  Seconds alpha_;
  Seconds beta_per_byte_;
};

}  // namespace gradwire
