#pragma once

#include <deque>
#include <optional>
#include <utility>

namespace gradwire {

/// Lets items go in the order in which they came, a limited number at a time: messages over one
/// connection.
template <class Item>
class WindowQueue {
 public:
  void push(Item item) { waiting_.push_back(std::move(item)); }
  /// The next item, when fewer than `window` are under way: it is from now on.
  std::optional<Item> take(int window) {
    if (under_way_ >= window || waiting_.empty()) return std::nullopt;
    ++under_way_;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    return item;
  }
  /// One of those under way has ended.
  void ended() { --under_way_; }

 private:
  std::deque<Item> waiting_;
  int under_way_ = 0;
};

}  // namespace gradwire
