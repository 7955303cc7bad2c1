#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace gradwire {

/// Lets loops of this process use so many threads from now on: 1, unless this is called.
/// REQUIRES: threads >= 1; no such loop runs, and the process will not fork.
void use_threads(int threads);

/// Does a loop of so many run on several threads, where those from `least` on do?
[[nodiscard]] bool is_shared(std::size_t count, std::size_t least);
/// in_parts() on all threads.
void share_parts(std::size_t count,
                 const std::function<void(std::size_t begin, std::size_t end)>& part);

/// Calls part(begin, end) for parts that together are [0, count), in no order, on the threads that
/// may be used where there are at least `least`, else on this one. What a part does may depend on
/// no other part, so that results have the same bits on any number of threads.
/// @throws what a part throws: of several the first one, when all have ended.
template <class Part>
void in_parts(std::size_t count, std::size_t least, const Part& part) {
  if (is_shared(count, least)) return share_parts(count, std::cref(part));
  if (count > 0) part(std::size_t{0}, count);
}

/// Lets the parts of a loop count, and keep extremes: in any order the same.
inline void add_shared(std::size_t& sum, std::size_t count) {
  std::atomic_ref(sum).fetch_add(count, std::memory_order_relaxed);
}
inline void lower_shared(double& least, double value) {
  const std::atomic_ref shared(least);
  double before = shared.load(std::memory_order_relaxed);
  while (value < before &&
         !shared.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}
inline void raise_shared(double& most, double value) {
  const std::atomic_ref shared(most);
  double before = shared.load(std::memory_order_relaxed);
  while (value > before &&
         !shared.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace gradwire
