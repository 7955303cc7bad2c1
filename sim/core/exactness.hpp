#pragma once

#include <cstdint>
#include <string_view>

namespace gradwire {

/// How the steps of a way to train stand to those of synchronous SGD on the whole batch. What
/// departs further is greater: of two that act together the greater one holds.
enum class Exactness : std::uint8_t {
  /// The same: every step takes the mean of all workers' gradients of this iteration.
  exact,
  /// Made of this iteration's gradients of all workers, but not their mean: fewer bits or elements
  /// of them (fp16 and bf16 as well), or another sum (Adasum).
  lossy,
  /// Workers step with gradients of an older model, or their models differ; lossy besides, maybe.
  stale,
};

[[nodiscard]] constexpr std::string_view name_of(Exactness exactness) {
  switch (exactness) {
    case Exactness::lossy:
      return "lossy";
    case Exactness::stale:
      return "stale";
    case Exactness::exact:
      break;
  }
  return "exact";
}

}  // namespace gradwire
