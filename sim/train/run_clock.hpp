#pragma once

namespace gradwire {

/// What a run's clock shows when the run begins, seconds. Between one power of two and the next
/// numbers lie equally near: all that happens in the 64 s from here on is rounded to 1.4e-14 s,
/// however late it is, and an iteration whose start finds everything as the one before did is that
/// one again, but for the rounding of bytes that ports sum since the run's start. From 0 on the
/// grid would double its width at each power of two, and where messages wait for one another in
/// long chains (p3) the rounding of one grows within an iteration until they come in another order,
/// by which later iterations differ from those before.
inline constexpr double run_begins = 64;

}  // namespace gradwire
