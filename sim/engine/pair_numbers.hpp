#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace gradwire {

/// Numbers of connections, by the ranks from and to which they are and how many they are. A flat
/// table with open addressing: of thousands of servers and ranks there are millions.
class PairNumbers {
 public:
  struct Pair {
    int source = 0;
    int destination = 0;
    int connections = 0;
    bool operator==(const Pair&) const = default;
  };

  /// @param number  given to a pair that has none. REQUIRES: number < 2^32 - 1.
  /// @return the pair's, and whether it is new.
  std::pair<std::uint32_t, bool> number(const Pair& pair, std::uint32_t number) {
    if (entries_.size() < load_most * (used_ + 1)) grow();
    Entry& entry = *place(pair);
    const bool is_new = entry.number == none;
    if (is_new) {
      entry = {pair, number};
      ++used_;
    }
    return {entry.number, is_new};
  }

  void clear() {
    entries_.clear();
    used_ = 0;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  /// Places a pair: half of them are empty, so that few are looked at.
  static constexpr std::size_t load_most = 2;
  static constexpr std::size_t places_least = 64;

  struct Entry {
    Pair pair;
    std::uint32_t number = none;
  };

  /// The pair's, or an empty one.
  Entry* place(const Pair& pair) {
    const std::size_t mask = entries_.size() - 1;  // a power of two
    std::size_t at = hash(pair) & mask;
    while (entries_[at].number != none && entries_[at].pair != pair) at = (at + 1) & mask;
    return &entries_[at];
  }
  /// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): 2^64 over
  /// the golden ratio.
  static std::size_t hash(const Pair& pair) {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ULL;
    constexpr unsigned half = 32;
    const auto word = [](int value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
    const std::uint64_t key =
        (word(pair.source) << half | word(pair.destination)) ^ factor * word(pair.connections);
    return static_cast<std::size_t>((key * factor) >> half);
  }

  void grow() {
    std::vector<Entry> before(entries_.empty() ? places_least : 2 * entries_.size());
    before.swap(entries_);
    for (const Entry& entry : before) {
      if (entry.number != none) *place(entry.pair) = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace gradwire
