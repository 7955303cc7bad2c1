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
  bool over_tcp = false;  ///< ranks of several machines talk over TCP
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
/// fifth of what is stated.
///
/// Widths are those that give the least interval score (Gneiting and Raftery, JASA 102, 2007,
/// section 6.2; 8 % of truths above, 2 % below) over some 1350 rows of the training series that no
/// constant is fitted to, of logarithms of times, a miss counted up to a factor of two, each series
/// with the root of its rows as weight, rounded; of what is above with several GPUs and machines,
/// on which that score hardly depends, the narrowest within 0.2 % of it. With each series predicted
/// by widths of the others 85 % of the rows are inside; results/reference/training.md has the
/// shares of these.
[[nodiscard]] std::vector<Doubt> doubts_of(const RunResult& result, const DoubtFacts& facts);

/// The root of the sum of squares of one end of all doubts.
[[nodiscard]] double together(const std::vector<Doubt>& doubts, double Doubt::*end);

}  // namespace gradwire
