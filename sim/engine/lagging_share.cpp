#include "sim/engine/lagging_share.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {

LaggingShare::LaggingShare(double whole)
    : whole_(whole), share_(whole), given_(whole), least_(whole) {}

void LaggingShare::count(double now) {
  owed_ += (share_ - given_) * (now - since_);
  since_ = now;
}

void LaggingShare::change(double now, double share) {
  count(now);
  share_ = share;
  least_ = std::min(least_, share);
  level_ = false;
}

double LaggingShare::next(double now, double window) {
  count(now);
  const double as_last = given_ * window + (owed_ - owed_before_);
  const auto owed_with = [&](double given) { return std::abs(owed_ + as_last - given * window); };
  const double best = std::min({share_, least_, whole_}, [&](double one, double other) {
    return owed_with(one) < owed_with(other);
  });
  level_ = best == share_ && owed_ == owed_before_ && best == given_;
  given_ = best;
  least_ = share_;
  owed_before_ = owed_;
  return best;
}

}  // namespace gradwire
