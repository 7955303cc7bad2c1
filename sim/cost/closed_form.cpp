#include "sim/cost/closed_form.hpp"

#include <cassert>

namespace gradwire {

Seconds ring_all_reduce_time(int ranks, Bytes size, Seconds alpha, BytesPerSecond rate) {
  assert(ranks >= 1 && rate.count() > 0);
  const Seconds step = alpha + (1.0 / ranks) * (size / rate);
  return 2.0 * (ranks - 1) * step;
}

Seconds chain_broadcast_time(int ranks, int pieces, Bytes size, Seconds alpha,
                             BytesPerSecond rate) {
  assert(ranks >= 1 && pieces >= 1 && rate.count() > 0);
  if (ranks == 1) return Seconds{};
  const Seconds round = alpha + (1.0 / pieces) * (size / rate);
  return static_cast<double>(ranks - 1 + pieces - 1) * round;
}

}  // namespace gradwire
