#pragma once

#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/result.hpp"
#include "sim/core/uncertainty.hpp"

namespace gradwire {

/// What the doubts of a run depend on.
struct DoubtFacts {
  RelativeError profile;  ///< of compute times
  double p5 = 0;          ///< of the iterations' times, and p50 and p95; seconds
  double p50 = 0;
  double p95 = 0;
  int machines = 1;
  bool over_tcp = false;       ///< ranks of several machines talk over TCP
  bool ports_assumed = false;  ///< or through as many ports as machines of their type often have
  DoubtWidths widths;
};

/// Why a prediction may be off, and by how much: each doubt's ends relative to the median
/// iteration, widest first. Together (their root of squares) they hold the truth in nine of ten
/// jobs; most that miss are slower than that.
///
/// Several GPUs never do much better together than one by itself, and often worse, beyond what
/// `jitter.several_gpus` counts, by what no scenario says (loaders of their input, other users);
/// several machines as if each doubling added a doubt of its own. Communication that compute hides
/// is doubted where it takes longer than predicted: networks of clouds over TCP carry down to a
/// fifth of what is stated. Where nobody states how many ports machines have that are built with
/// many or few, all of it is.
///
/// Widths are fitted to measured jobs (validation/interval_fit.hpp), which
/// results/reference/intervals.md shows.
[[nodiscard]] std::vector<Doubt> doubts_of(const RunResult& result, const DoubtFacts& facts);

/// The root of the sum of squares of one end of all doubts.
[[nodiscard]] double together(const std::vector<Doubt>& doubts, double Doubt::*end);

}  // namespace gradwire
