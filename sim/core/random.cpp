#include "sim/core/random.hpp"

#include <boost/math/distributions/normal.hpp>
#include <cassert>

namespace gradwire {

double normal_quantile(double p) {
  assert(p > 0 && p < 1);
  namespace policies = boost::math::policies;
  using InDouble = policies::policy<policies::promote_double<false>>;
  return boost::math::quantile(boost::math::normal_distribution<double, InDouble>(), p);
}

NormalTable::NormalTable() {
  for (std::size_t i = 1; i < parts; ++i) {
    knots_[i] = normal_quantile(static_cast<double>(i) / static_cast<double>(parts));
  }
}

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

}  // namespace gradwire
