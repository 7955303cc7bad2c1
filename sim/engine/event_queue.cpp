#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace gradwire {

void EventQueue::advance_to(Seconds when) {
  assert(when >= now_);
  now_ = when;
}

void EventQueue::post(Seconds when, int priority, Action action) {
  assert(std::isfinite(when.count()) && when >= now_);
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(actions_.size());
    actions_.push_back(std::move(action));
  } else {
    slot = free_.back();
    free_.pop_back();
    actions_[slot] = std::move(action);
  }
  heap_.push_back({when, posted_++, priority, slot});
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

void EventQueue::run_next() {
  assert(due());
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  const std::uint32_t slot = heap_.back().slot;
  heap_.pop_back();
  // The action may post others into this very slot.
  Action action = std::move(actions_[slot]);
  free_.push_back(slot);
  action();
}

}  // namespace gradwire
