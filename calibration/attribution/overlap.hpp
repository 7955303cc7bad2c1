#pragma once

#include <map>
#include <string>

#include "calibration/attribution/attribution.hpp"

namespace gradwire::calibration {

/// How much longer the kernels of one kind of layer take while communication runs beside them.
struct OverlapSlowdown {
  double slowdown = 1;  ///< of a kernel that is beside communication all the time
  int kernels = 0;      ///< that were compared
};

/// By kind of layer: every kernel of an iteration is compared with itself
/// in the other iterations, as t = t0 (1 + s f) where f is the share of its time with communication
/// beside it. Of each kernel the iterations of least and of most f give one s, if they differ by a
/// quarter; a kind's slowdown is the median of at least ten. Traces whose iterations all
/// communicate alike give nothing: record some with no_sync. Never below 1: what is faster beside
/// communication is noise.
[[nodiscard]] std::map<std::string, OverlapSlowdown> overlap_slowdown(
    const Attribution& attribution);

}  // namespace gradwire::calibration
