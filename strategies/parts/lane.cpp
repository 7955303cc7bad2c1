#include "strategies/parts/lane.hpp"

#include <fmt/format.h>

#include <memory>

namespace gradwire {

LaneItem labelled(const char* what, LaneItem item, Poster::Then then) {
  item.label = what + item.label;
  item.then = std::move(then);
  return item;
}

Lane::Make messages_by(int exchange, bool coded) {
  return [exchange, coded](LaneItem load) {
    Messages messages{exchange, load.size, std::move(load.tensors), std::move(load.label)};
    if (coded) messages.priority = load.priority;
    messages.server = load.server;
    return messages;
  };
}

void Lane::add(LaneItem item) {
  if (free_ > 0 && waiting_.empty()) return begin(std::move(item), {});
  waiting_.emplace(std::pair{item.priority, added_++}, std::move(item));
  if (free_ > 0) start();
}

void Lane::start() {
  if (waiting_.empty()) return;
  LaneItem load = std::move(waiting_.extract(waiting_.begin()).mapped());
  std::vector<Poster::Then> others;  // what follows those that go with it
  while (!waiting_.empty() && load.size + waiting_.begin()->second.size <= together_) {
    LaneItem next = std::move(waiting_.extract(waiting_.begin()).mapped());
    load.size += next.size;
    load.tensors.insert(load.tensors.end(), next.tensors.begin(), next.tensors.end());
    others.push_back(std::move(next.then));
  }
  if (!others.empty()) load.label += fmt::format(" and {} more", others.size());
  begin(std::move(load), std::move(others));
}

void Lane::begin(LaneItem load, std::vector<Poster::Then> others) {
  --free_;
  const Poster::Then ended = [this, then = std::move(load.then), others = std::move(others)] {
    finish(then, others);
  };
  if (load.beside.empty()) {
    poster_->post(make_(std::move(load)), ended);
    return;
  }
  const auto under_way = std::make_shared<std::size_t>(load.beside.size() + 1);
  const Poster::Then one_ended = [under_way, ended] {
    if (--*under_way == 0) ended();
  };
  for (Operation& operation : load.beside) poster_->post(std::move(operation), one_ended);
  poster_->post(make_(std::move(load)), one_ended);
}

void Lane::finish(const Poster::Then& then, const std::vector<Poster::Then>& others) {
  const auto refill = [this] {
    ++free_;
    start();
  };
  if (refills_first_) refill();
  if (then) then();
  for (const auto& other : others) {
    if (other) other();
  }
  // What follows may have brought something more urgent to this lane.
  if (!refills_first_) refill();
}

}  // namespace gradwire
