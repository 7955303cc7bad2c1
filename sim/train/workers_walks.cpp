// Where ranks will be: what they are waited for, and the walks that tell when they are there.
#include <algorithm>

#include "sim/train/workers.hpp"

namespace gradwire {

void Workers::choose_leads() {
  leads_.clear();
  forget_walks();
  all_lead_ = draws_->vary() || std::ranges::any_of(members_, [&](const auto& member) {
                return member.start != members_.front().start;
              });
  if (all_lead_) return;
  // The slowest of those that compute and, for what they do all the same, of those that do not.
  std::vector<std::optional<std::size_t>> slowest(2 * gpus_.size());
  for (const Block& block : blocks_) {
    auto& last = slowest[2 * block.worker_class + (block.computes ? 1 : 0)];
    for (std::size_t m = block.first; m < block.first + block.lanes.count; ++m) {
      if (!last || members_[m].speed > members_[*last].speed) last = m;
    }
  }
  for (const auto& last : slowest) {
    if (last) leads_.push_back(*last);
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
  walked_at_ = 0;
  for (const Walk& walk : walks_) walked_at_ = std::max(walked_at_, latest_of(walk.lanes));
  return walked_at_;
}

void Workers::begin_walks() const {
  for (const Block& block : blocks_) {
    if (all_lead_) {
      walks_.push_back(
          {block.number, block.worker_class, block.computes, block.rear, block.front, block.lanes});
      continue;
    }
    for (const std::size_t lead : leads_) {
      if (lead < block.first || lead >= block.first + block.lanes.count) continue;
      const std::size_t lane = lead - block.first;
      Walk& walk = walks_.emplace_back(
          Walk{block.number, block.worker_class, block.computes, block.rear, block.front, {}});
      walk.lanes.count = 1;
      walk.lanes.now[0] = block.lanes.now[lane];
      walk.lanes.remaining[0] = block.lanes.remaining[lane];
      walk.lanes.item[0] = block.lanes.item[lane];
      walk.lanes.start[0] = block.lanes.start[lane];
      walk.lanes.factor[0] = block.lanes.factor[lane];
    }
  }
}

bool Workers::walk(std::size_t items) const {
  std::size_t closed = 0;
  in_parts(walks_.size(), shared_blocks, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      if (!walk(walks_[w], items)) add_shared(closed, 1);
    }
  });
  return closed == 0;
}

bool Workers::walk(Walk& walk, std::size_t items) const {
  Lanes& lanes = walk.lanes;
  const Kind kind = kind_of(walk, walk.block);
  while (walk.rear < items) {
    const std::size_t position = walk.rear;
    const bool together = position >= walk.front;
    const ComputeItem& item = stream_[position];
    if (item.type == ComputeItem::Type::work) {
      const bool before = position < ready_after();
      const Slowing& by = (before ? beside_ : arrived_)[kind.worker_class];
      const std::size_t end = together ? std::min(items, before ? ready_after() : nowhere) : 0;
      const Run run = run_of(position, std::max(end, position + 1), kind, by, by, lanes);
      together ? walk_run({run.data(), run.size()}, lanes) : walk_past(run.front(), lanes);
      walk.rear += run.size();
      continue;
    }
    if (!walk_through(walk, item, together)) return false;
    ++walk.rear;
  }
  return true;
}

bool Workers::walk_through(Walk& walk, const ComputeItem& item, bool together) const {
  const bool gate = item.type == ComputeItem::Type::gate;
  if (gate && !stream_.is_open(item, log_)) return false;
  const double opens = gate ? stream_.opens_at(item, log_) : 0;
  Lanes& lanes = walk.lanes;
  for (std::size_t lane = 0; lane < lanes.count; ++lane) {
    if (!together && lanes.item[lane] != static_cast<double>(walk.rear)) continue;
    lanes.now[lane] = std::max(lanes.now[lane], opens);
    lanes.remaining[lane] = -1;
    ++lanes.item[lane];
  }
  return true;
}

std::optional<OperationId> Workers::take_passed() {
  const std::size_t items = marked();
  if (items == nowhere) return std::nullopt;
  if (library_.run_ahead) {
    pay();
    for (const Block& block : blocks_) {
      for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
        if (block.item(lane) < items) return std::nullopt;
      }
    }
  } else if (awaited() < items || passes(items) > about(now_)) {
    return std::nullopt;
  }
  const OperationId taken = stream_.take_mark();
  if (!library_.run_ahead) meet();
  return taken;
}

}  // namespace gradwire
