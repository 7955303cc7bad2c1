#include "calibration/capture/bench/dithering.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "calibration/capture/bench/hash.hpp"

namespace gradwire::calibration {
namespace {

constexpr unsigned word_bits = 64;

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::uint64_t>& words) : words_(words) { words_.clear(); }

  /// The lowest `count` bits of `value`, the highest of them first. REQUIRES: count <= 64.
  void put(std::uint64_t value, unsigned count) {
    while (count > 0) {
      if (free_ == 0) {
        words_.push_back(0);
        free_ = word_bits;
      }
      const unsigned now = std::min(count, free_);
      const std::uint64_t piece = value >> (count - now) & low_bits(now);
      free_ -= now;
      words_.back() |= piece << free_;
      count -= now;
    }
  }
  /// A number from 1 on: the length of its length in zeros, its length, its bits but the first.
  void put_delta(std::uint64_t number) {
    const auto length = static_cast<unsigned>(std::bit_width(number));
    const auto of_length = static_cast<unsigned>(std::bit_width(length));
    put(0, of_length - 1);
    put(length, of_length);
    put(number & low_bits(length - 1), length - 1);
  }
  [[nodiscard]] std::size_t bits() const { return words_.size() * word_bits - free_; }

 private:
  static std::uint64_t low_bits(unsigned count) {
    return count == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  std::vector<std::uint64_t>& words_;
  unsigned free_ = 0;  ///< bits of the last word
};

class BitReader {
 public:
  explicit BitReader(const Dithered& coded) : words_(coded.words), bits_(coded.bits) {}

  [[nodiscard]] bool at_end() const { return at_ == bits_; }
  std::uint64_t get(unsigned count) {
    std::uint64_t value = 0;
    for (; count > 0; --count, ++at_) {
      value = value << 1U | (words_[at_ / word_bits] >> (word_bits - 1 - at_ % word_bits) & 1U);
    }
    return value;
  }
  std::uint64_t get_delta() {
    unsigned zeros = 0;
    while (get(1) == 0) ++zeros;
    const auto length = static_cast<unsigned>(std::uint64_t{1} << zeros | get(zeros));
    return std::uint64_t{1} << (length - 1) | get(length - 1);
  }

 private:
  const std::vector<std::uint64_t>& words_;
  std::size_t bits_;
  std::size_t at_ = 0;
};

}  // namespace

void dither(std::span<const float> values, int levels, std::uint32_t seed, Dithered& coded) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  coded.norm = static_cast<float>(std::sqrt(squares));
  BitWriter writer(coded.words);
  std::size_t next = 0;  // behind the last one that was sent
  for (std::size_t i = 0; coded.norm > 0 && i < values.size(); ++i) {
    const float scaled = std::fabs(values[i]) / coded.norm * static_cast<float>(levels);
    const float whole = std::floor(scaled);
    const bool up = uniform(static_cast<std::uint32_t>(i), seed) < scaled - whole;
    const auto level = static_cast<std::uint64_t>(whole) + (up ? 1U : 0U);
    if (level == 0) continue;
    writer.put_delta(i - next + 1);
    writer.put(values[i] < 0 ? 1 : 0, 1);
    writer.put_delta(level);
    next = i + 1;
  }
  coded.bits = writer.bits();
}

void undither(const Dithered& coded, int levels, std::span<float> values) {
  std::ranges::fill(values, 0.0F);
  BitReader reader(coded);
  std::size_t next = 0;
  while (!reader.at_end()) {
    next += reader.get_delta();
    const bool negative = reader.get(1) == 1;
    const float size =
        coded.norm / static_cast<float>(levels) * static_cast<float>(reader.get_delta());
    values[next - 1] = negative ? -size : size;
  }
}

}  // namespace gradwire::calibration
