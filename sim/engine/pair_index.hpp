#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gradwire {

/// Numbers pairs of numbers from `first` on, in the order in which they are asked for: an open hash
/// table, for pairs that are few and asked for by the million.
class PairIndex {
 public:
  using Number = std::uint32_t;

  explicit PairIndex(Number first = 0) : first_(first), seats_(64, no_number) {}

  /// The pair's number. @param is_new  set to whether this is the first time.
  Number of(Number a, Number b, bool& is_new) {
    const std::uint64_t key = std::uint64_t{a} << 32U | b;
    // Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4.
    std::size_t seat = (key * 0x9e37'79b9'7f4a'7c15U) >> shift_;
    while (seats_[seat] != no_number) {
      if (keys_[seats_[seat]] == key) {
        is_new = false;
        return first_ + seats_[seat];
      }
      seat = (seat + 1) & (seats_.size() - 1);
    }
    is_new = true;
    seats_[seat] = static_cast<Number>(keys_.size());
    keys_.push_back(key);
    if (2 * keys_.size() > seats_.size()) grow();
    return first_ + static_cast<Number>(keys_.size() - 1);
  }
  Number of(Number a, Number b) {
    bool is_new = false;
    return of(a, b, is_new);
  }

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  /// REQUIRES: `number` was given.
  [[nodiscard]] std::pair<Number, Number> pair(Number number) const {
    const std::uint64_t key = keys_[number - first_];
    return {static_cast<Number>(key >> 32U), static_cast<Number>(key)};
  }

 private:
  static constexpr Number no_number = static_cast<Number>(-1);

  void grow() {
    --shift_;
    seats_.assign(2 * seats_.size(), no_number);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t seat = (keys_[i] * 0x9e37'79b9'7f4a'7c15U) >> shift_;
      while (seats_[seat] != no_number) seat = (seat + 1) & (seats_.size() - 1);
      seats_[seat] = static_cast<Number>(i);
    }
  }

  Number first_;
  unsigned shift_ = 58;  ///< 64 less the bits of a seat
  std::vector<std::uint64_t> keys_;
  std::vector<Number> seats_;
};

}  // namespace gradwire
