// Where ranks will be: what they are waited for, and the walks that tell when they are there.
#include <algorithm>

#include "sim/train/workers.hpp"

namespace gradwire {

void Workers::choose_leads() {
  leads_.clear();
  forget_walks();
  const bool alike = !draws_->vary() && std::ranges::all_of(members_, [&](const auto& member) {
    return member.start == members_.front().start;
  });
  // Of those that compute and, for what they do all the same, of those that do not.
  std::vector<std::optional<std::size_t>> slowest(2 * gpus_.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    auto& last =
        slowest[2 * static_cast<std::size_t>(members_[m].worker_class) + (computes(m) ? 1 : 0)];
    if (!last || members_[m].speed > members_[*last].speed) last = m;
    if (!alike || trace_.records(m)) leads_.push_back(m);
  }
  for (const auto& last : slowest) {
    if (last && std::ranges::find(leads_, *last) == leads_.end()) leads_.push_back(*last);
  }
}

std::size_t Workers::awaited() const {
  const bool ends = !iteration_ended() && stream_.end() < stream_.size();
  std::size_t items = ends ? stream_.end() + 1 : nowhere;
  // Behind a kernel that is on the GPU nothing is ready before that one ends.
  const bool blocked = library_.on_gpu && in_flight_ > 0;
  if (!blocked && taken_ < communication_.size() &&
      communication_[taken_].arrived < members_.size()) {
    items = std::min(items, communication_[taken_].after);
  }
  return items;
}

std::size_t Workers::marked() const {
  return stream_.first_mark() == stream_.size() ? nowhere : stream_.first_mark() + 1;
}

double Workers::next_time() const {
  return passes(std::min(marked(), awaited()));
}

void Workers::meet() {
  for (std::size_t items = awaited(); items < marked();) {
    if (passes(items) > about(now_)) return;
    catch_up(now_);
    const std::size_t next = awaited();
    if (next == items) return;
    items = next;
  }
}

double Workers::passes(std::size_t items) const {
  if (items > stream_.size()) return forever;
  if (items == walked_ && !walks_.empty()) return walked_at_;
  if (walks_.empty()) {
    for (const std::size_t m : leads_) {
      const Clock& clock = clocks_[m];
      walks_.push_back({clock.now, clock.remaining, clock.item, clock.communicating,
                        slowdown_of(m, arrived_at(clock))});
    }
  }
  double last = 0;
  for (std::size_t i = 0; i < leads_.size(); ++i) {
    if (!walk(leads_[i], walks_[i], items)) return forever;
    last = std::max(last, walks_[i].now);
  }
  walked_ = items;
  walked_at_ = last;
  return last;
}

bool Workers::walk(std::size_t member, Walk& walk, std::size_t items) const {
  const Clock& clock = clocks_[member];
  for (; walk.item < items; ++walk.item) {
    if (!walk.communicating && library_.on_gpu && clock.collective < communication_.size() &&
        communication_[clock.collective].after <= walk.item) {
      walk.communicating = true;
      walk.slow = slowdown_of(member, &communication_[clock.collective]);
    }
    const ComputeItem& item = stream_[walk.item];
    if (item.type == ComputeItem::Type::gate) {
      if (!stream_.is_open(item, log_)) return false;
      for (const OperationId id : stream_.until(item)) {
        walk.now = std::max(walk.now, log_.end_of(id));
      }
    } else if (item.type == ComputeItem::Type::work) {
      if (walk.remaining < 0) {
        walk.now = std::max(walk.now, launched(member, item.launched));
        walk.remaining = seconds_of(walk.item, member, clock.factor);
      }
      walk.now += walk.remaining * factor_of(item, walk.slow);
    }
    walk.remaining = -1;
  }
  return true;
}

std::optional<OperationId> Workers::take_passed() {
  const std::size_t items = marked();
  if (items == nowhere) return std::nullopt;
  if (library_.run_ahead) {
    if (std::ranges::any_of(clocks_, [&](const Clock& clock) { return clock.item < items; })) {
      return std::nullopt;
    }
  } else if (awaited() < items || passes(items) > about(now_)) {
    return std::nullopt;
  }
  const OperationId taken = stream_.take_mark();
  if (!library_.run_ahead) meet();
  return taken;
}

}  // namespace gradwire
