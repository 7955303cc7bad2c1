#include "sim/train/compute_stream.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

namespace gradwire {

void ComputeStream::post(ComputeItem item, std::string name,
                         std::span<const double> other_seconds) {
  if (item.type == ComputeItem::Type::end) end_ = items_.size();
  items_.push_back(item);
  if (other_classes_ > 0) {
    // An item that takes no time, such as a gate, comes without times.
    other_seconds_.resize(items_.size() * other_classes_);
    assert(other_seconds.empty() || other_seconds.size() == other_classes_);
    std::copy(other_seconds.begin(), other_seconds.end(),
              other_seconds_.end() - static_cast<std::ptrdiff_t>(other_classes_));
  }
  names_.push_back(std::move(name));
}

void ComputeStream::post_gate(std::vector<OperationId> until) {
  gates_.push_back({std::move(until)});
  post({.type = ComputeItem::Type::gate, .gate = gates_.size() - 1}, "gate");
}

void ComputeStream::post_mark(OperationId id) {
  marks_.push_back(items_.size());
  post({.type = ComputeItem::Type::mark, .mark = id}, "mark");
}

bool ComputeStream::is_open(const ComputeItem& gate, const OperationLog& log) const {
  const Gate& asked = gates_[gate.gate];
  // Several threads may ask: what any of them has found is true.
  const std::atomic_ref known(asked.ended);
  std::size_t ended = known.load(std::memory_order_relaxed);
  if (ended == asked.until.size()) return true;
  while (ended < asked.until.size() && log.ended(asked.until[ended])) ++ended;
  known.store(ended, std::memory_order_relaxed);
  return ended == asked.until.size();
}

double ComputeStream::opens_at(const ComputeItem& gate, const OperationLog& log) const {
  double opens = 0;
  for (const OperationId id : until(gate)) opens = std::max(opens, log.end_of(id));
  return opens;
}

std::size_t ComputeStream::drop_iteration() {
  const std::size_t dropped = end_ == no_end ? items_.size() : end_ + 1;
  const auto gates = static_cast<std::size_t>(
      std::count_if(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(dropped),
                    [](const ComputeItem& item) { return item.type == ComputeItem::Type::gate; }));
  const auto drop = [](auto& list, std::size_t count) {
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
  };
  drop(items_, dropped);
  drop(names_, dropped);
  drop(other_seconds_, dropped * other_classes_);
  drop(gates_, gates);
  for (ComputeItem& item : items_) {
    item.launched = 0;
    if (item.type == ComputeItem::Type::gate) item.gate -= gates;
  }
  assert(marks_.empty() || marks_.front() >= dropped);
  for (std::size_t& mark : marks_) mark -= dropped;
  end_ = no_end;
  return dropped;
}

OperationId ComputeStream::take_mark() {
  const std::size_t position = marks_.front();
  marks_.pop_front();
  return items_[position].mark;
}

}  // namespace gradwire
