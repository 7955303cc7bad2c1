// What workers tell: rows of the timeline, and where they stand when nothing moves.
#include <fmt/format.h>

#include <algorithm>

#include "sim/train/workers.hpp"

namespace gradwire {

void Workers::trace(std::optional<std::size_t> member) {
  if (member) {
    trace_.start(*member, members_[*member].rank);
  } else {
    trace_.stop();
  }
  find_traced();
}

void Workers::find_traced() {
  const auto place = std::ranges::find(seats_, trace_.member());
  traced_ = place == seats_.end() ? nowhere : static_cast<std::size_t>(place - seats_.begin());
}

void Workers::span(const char* resource, const std::string& name, double start, double end,
                   Bytes size, const std::vector<TensorId>& tensors) {
  if (trace_.is_on()) trace_.add(resource, name, start, end, size, tensors);
}

void Workers::trace_collective(const CommunicationItem& item) {
  if (item.start > item.traced_arrival) {
    trace_.add("communication", library_.on_gpu ? "spin" : "queue", item.traced_arrival, item.start,
               library_.on_gpu ? "the last rank" : "the last rank, or a free thread");
  }
  span("communication", item.collective.label, item.start, item.end, item.collective.size,
       item.collective.tensors);
}

std::optional<OperationId> Workers::blocked_on() const {
  // Every member stands before or at the first closed gate.
  for (std::size_t i = blocks_.front().item(0); i < stream_.size(); ++i) {
    if (stream_[i].type != ComputeItem::Type::gate) continue;
    for (const OperationId id : stream_.until(stream_[i])) {
      if (!log_.ended(id)) return id;
    }
  }
  return {};
}

std::string Workers::waiting() const {
  std::string text;
  for (const Block& block : blocks_) {
    for (std::size_t lane = 0; lane < block.lanes.count && text.size() < 400; ++lane) {
      const std::size_t item = block.item(lane);
      if (item == stream_.size() || stream_[item].type == ComputeItem::Type::end) continue;
      text += fmt::format("{}rank {} at '{}'", text.empty() ? "" : ", ",
                          members_[member(block, lane)].rank, stream_.name(item));
    }
  }
  return text;
}

}  // namespace gradwire
