#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gradwire {

/// Numbers of lanes, which come and go by the million: a bit for each.
class LaneSet {
 public:
  /// @param lanes  all numbers are below it.
  explicit LaneSet(std::size_t lanes) : words_(lanes / bits + 1) {}

  void insert(std::size_t lane) { words_[lane / bits] |= bit(lane); }
  void erase(std::size_t lane) { words_[lane / bits] &= ~bit(lane); }
  [[nodiscard]] bool contains(std::size_t lane) const {
    return (words_[lane / bits] & bit(lane)) != 0;
  }
  /// The least that is not below `lane`; nothing: there is none. REQUIRES: `lane` <= lanes.
  [[nodiscard]] std::optional<std::size_t> first_from(std::size_t lane) const {
    std::size_t at = lane / bits;
    std::uint64_t word = words_[at] & ~(bit(lane) - 1);
    while (word == 0) {
      if (++at == words_.size()) return std::nullopt;
      word = words_[at];
    }
    return at * bits + static_cast<std::size_t>(std::countr_zero(word));
  }

 private:
  static constexpr std::size_t bits = 64;
  static constexpr std::uint64_t bit(std::size_t lane) { return std::uint64_t{1} << (lane % bits); }

  std::vector<std::uint64_t> words_;
};

}  // namespace gradwire
