#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {

/// Records on their way from one thread, which writes, to another, which drains. Neither waits.
/// REQUIRES: capacity is a power of two, and every record is smaller than half of it.
class Ring {
 public:
  explicit Ring(std::size_t capacity)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)), capacity_(capacity) {}

  /// `size` bytes in one piece (a multiple of 8), or null where the ring is full. Writer only.
  [[nodiscard]] std::byte* reserve(std::uint32_t size) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::size_t offset = head & (capacity_ - 1);
    const std::size_t to_end = capacity_ - offset;
    const std::size_t skip = to_end < size ? to_end : 0;
    if (head + skip + size - tail_.load(std::memory_order_acquire) > capacity_) return nullptr;
    if (skip > 0) pad(offset, skip);
    pending_ = head + skip + size;
    return bytes_.get() + (skip > 0 ? 0 : offset);
  }

  /// What was reserved can be drained from now on. @return whether the ring just became half full.
  bool commit() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t before = head_.load(std::memory_order_relaxed) - tail;
    head_.store(pending_, std::memory_order_release);
    return before < capacity_ / 2 && pending_ - tail >= capacity_ / 2;
  }

  /// Appends what was committed to `out`, and empties the ring. Drainer only.
  void drain(std::vector<std::byte>& out) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    while (tail < head) {
      const std::size_t offset = tail & (capacity_ - 1);
      const std::size_t size = std::min<std::size_t>(capacity_ - offset, head - tail);
      out.insert(out.end(), bytes_.get() + offset, bytes_.get() + offset + size);
      tail += size;
    }
    tail_.store(tail, std::memory_order_release);
  }

 private:
  /// Fills the end of the ring with padding records, each within the 16 bits of its length.
  void pad(std::size_t offset, std::size_t size) {
    constexpr std::size_t piece_max = 65528;
    while (size > 0) {
      const std::size_t piece = std::min(size, piece_max);
      const gwr::RecordHeader padding{gwr::RecordKind::padding, static_cast<std::uint16_t>(piece),
                                      0};
      std::memset(bytes_.get() + offset, 0, piece);
      std::memcpy(bytes_.get() + offset, &padding, sizeof(padding));
      offset += piece;
      size -= piece;
    }
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_;
  std::uint64_t pending_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_ = 0;
  alignas(64) std::atomic<std::uint64_t> tail_ = 0;
};

}  // namespace gradwire::calibration
