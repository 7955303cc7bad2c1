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
    auto& last = slowest[2 * static_cast<std::size_t>(members_[m].worker_class) +
                         (paces_[m].computes ? 1 : 0)];
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
  if (walks_.empty()) begin_walks();
  if (!walk(items)) return forever;
  walked_ = items;
  walked_at_ = std::ranges::max_element(walks_, {}, &Walk::now)->now;
  return walked_at_;
}

void Workers::begin_walks() const {
  together_ = nowhere;
  furthest_ = 0;
  for (const std::size_t m : leads_) {
    const Clock& clock = clocks_[m];
    walks_.push_back({clock.now, clock.remaining, clock.item});
    const bool begun = clock.remaining >= 0;
    furthest_ = std::max<std::size_t>(furthest_, clock.item + (begun ? 1 : 0));
  }
}

bool Workers::walk(std::size_t items) const {
  if (together_ == nowhere) {
    bool open = true;
    for (std::size_t i = 0; i < leads_.size(); ++i) {
      open = walk(leads_[i], walks_[i], std::min(items, furthest_)) && open;
    }
    if (!open || items < furthest_) return open;
    together_ = furthest_;
  }
  for (; together_ < items; ++together_) {
    if (!walk_past(together_)) return false;
  }
  return true;
}

bool Workers::walk(std::size_t member, Walk& walk, std::size_t items) const {
  const Pace& pace = paces_[member];
  const std::size_t ready = ready_after();
  for (; walk.item < items; ++walk.item) {
    const ComputeItem& item = stream_[walk.item];
    if (item.type == ComputeItem::Type::gate) {
      if (!stream_.is_open(item, log_)) return false;
      walk.now = std::max(walk.now, stream_.opens_at(item, log_));
    } else if (item.type == ComputeItem::Type::work) {
      if (walk.remaining < 0) {
        walk.now = std::max(walk.now, launched(pace, item.launched));
        walk.remaining = seconds_of(walk.item, member);
      }
      const auto& slowing = walk.item < ready ? beside_ : arrived_;
      walk.now += walk.remaining * slowing[pace.worker_class].of(item);
    }
    walk.remaining = -1;
  }
  return true;
}

bool Workers::walk_past(std::size_t position) const {
  const ComputeItem& item = stream_[position];
  if (item.type == ComputeItem::Type::gate) {
    if (!stream_.is_open(item, log_)) return false;
    const double opens = stream_.opens_at(item, log_);
    for (Walk& walk : walks_) walk.now = std::max(walk.now, opens);
  }
  if (item.type != ComputeItem::Type::work) return true;
  const auto& slowing = position < ready_after() ? beside_ : arrived_;
  of_kind_.clear();
  for (std::size_t c = 0; c < gpus_.size(); ++c) {
    const double slowed = slowing[c].of(item);
    const double seconds = stream_.seconds(position, static_cast<int>(c));
    const bool all_do = item.part == Part::encode_decode;
    of_kind_.push_back({all_do ? seconds : 0, 0, slowed});
    of_kind_.push_back({seconds, item.launched, slowed});
  }
  const std::span<const float> layer = draws_->layer_factors(item.layer);
  for (std::size_t i = 0; i < walks_.size(); ++i) {
    const Pace& pace = paces_[leads_[i]];
    const OfKind& kind = of_kind_[2 * pace.worker_class + (pace.computes ? 1 : 0)];
    const double seconds = kind.seconds * (item.device ? pace.factor : 1) *
                           (layer.empty() ? 1 : static_cast<double>(layer[leads_[i]]));
    double& now = walks_[i].now;
    now = std::max(now, pace.start + kind.launched) + seconds * kind.slowing;
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
