#include "strategies/lane.hpp"

#include <fmt/format.h>

namespace gradwire {

Lane::Make messages_by(int exchange) {
  return [exchange](const LaneItem& load) {
    return Messages{exchange, load.size, load.tensors, load.label};
  };
}

void Lane::add(LaneItem item) {
  waiting_.emplace(std::pair{item.priority, added_++}, std::move(item));
  if (!busy_) start();
}

void Lane::start() {
  if (waiting_.empty()) return;
  LaneItem load = std::move(waiting_.extract(waiting_.begin()).mapped());
  under_way_.push_back(std::move(load.then));
  while (!waiting_.empty() && load.size + waiting_.begin()->second.size <= together_) {
    LaneItem next = std::move(waiting_.extract(waiting_.begin()).mapped());
    load.size += next.size;
    load.tensors.insert(load.tensors.end(), next.tensors.begin(), next.tensors.end());
    under_way_.push_back(std::move(next.then));
  }
  if (under_way_.size() > 1) load.label += fmt::format(" and {} more", under_way_.size() - 1);
  busy_ = true;
  poster_->post(make_(load), [this] { finish(); });
}

void Lane::finish() {
  // What follows may bring something more urgent to this lane: it is asked first.
  for (const auto& then : std::exchange(under_way_, {})) {
    if (then) then();
  }
  busy_ = false;
  start();
}

}  // namespace gradwire
