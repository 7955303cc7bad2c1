#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gradwire {

/// Numbered things by a time, each there at most once: it is known where each stands, so that its
/// time is changed in place. Of equal times the lower number is first. Four children a node: a
/// heap half as high as one of two (LaMarca and Ladner, The influence of caches on the performance
/// of heaps, ACM JEA 1, 1996).
class IndexedHeap {
 public:
  using Id = std::uint32_t;
  struct Entry {
    double time = 0;
    Id id = 0;
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The first. REQUIRES: not empty.
  [[nodiscard]] const Entry& front() const { return heap_.front(); }
  [[nodiscard]] bool contains(Id id) const { return id < place_.size() && place_[id] != nowhere; }

  /// Puts it in at a time, or moves it there.
  void set(Id id, double time) {
    if (place_.size() <= id) place_.resize(std::size_t{id} + 1, nowhere);
    std::uint32_t place = place_[id];
    if (place == nowhere) {
      place = static_cast<std::uint32_t>(heap_.size());
      heap_.emplace_back();
      return rise(place, {time, id});
    }
    const Entry moved{time, id};
    before(moved, heap_[place]) ? rise(place, moved) : sink(place, moved);
  }
  /// Takes it out where it is in.
  void erase(Id id) {
    if (!contains(id)) return;
    const std::uint32_t place = place_[id];
    place_[id] = nowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    before(last, heap_[place]) ? rise(place, last) : sink(place, last);
  }
  void clear() {
    for (const Entry& entry : heap_) place_[entry.id] = nowhere;
    heap_.clear();
  }

 private:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t children = 4;

  [[nodiscard]] static bool before(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time < b.time : a.id < b.id;
  }
  void stand(std::uint32_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.id] = place;
  }
  /// Puts an entry at a place, or further to the front.
  void rise(std::uint32_t place, const Entry& entry) {
    while (place > 0) {
      const std::uint32_t parent = (place - 1) / children;
      if (!before(entry, heap_[parent])) break;
      stand(place, heap_[parent]);
      place = parent;
    }
    stand(place, entry);
  }
  /// Puts it there, or further to the back.
  void sink(std::uint32_t place, const Entry& entry) {
    const auto size = static_cast<std::uint32_t>(heap_.size());
    while (true) {
      const std::uint32_t first = place * children + 1;
      if (first >= size) break;
      std::uint32_t least = first;
      for (std::uint32_t child = first + 1; child < first + children && child < size; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      stand(place, heap_[least]);
      place = least;
    }
    stand(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  ///< [id], in heap_
};

}  // namespace gradwire
