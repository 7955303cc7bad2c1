#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace gradwire {

/// A list that grows at its end and forgets its beginning, so that a long run keeps what is under
/// way. Positions count from the first element that there ever was.
template <class T>
class SlidingList {
 public:
  void push_back(T element) { kept_.push_back(std::move(element)); }
  /// Elements that there ever were.
  [[nodiscard]] std::size_t size() const { return first_ + kept_.size(); }
  /// Position of the first one that is kept.
  [[nodiscard]] std::size_t first() const { return first_; }
  /// REQUIRES: first() <= position < size().
  [[nodiscard]] T& operator[](std::size_t position) { return kept_[place(position)]; }
  [[nodiscard]] const T& operator[](std::size_t position) const { return kept_[place(position)]; }

  /// What stands before `position` is not asked for any more; gone once it is most of what is kept.
  /// REQUIRES: first() <= position <= size().
  void forget_before(std::size_t position) {
    const std::size_t forgotten = position - first_;
    if (2 * forgotten <= kept_.size()) return;
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(forgotten));
    first_ = position;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t position) const {
    assert(position >= first_);
    return position - first_;
  }

  std::vector<T> kept_;
  std::size_t first_ = 0;
};

}  // namespace gradwire
