// What workers tell: rows of the timeline, and where they stand when nothing moves.
#include <fmt/format.h>

#include "sim/train/workers.hpp"

namespace gradwire {

void Workers::trace(std::optional<std::size_t> member) {
  if (member) {
    trace_.start(*member, members_[*member].rank);
  } else {
    trace_.stop();
  }
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
  for (std::size_t i = clocks_.front().item; i < stream_.size(); ++i) {
    if (stream_[i].type != ComputeItem::Type::gate) continue;
    for (const OperationId id : stream_.until(stream_[i])) {
      if (!log_.ended(id)) return id;
    }
  }
  return {};
}

std::string Workers::waiting() const {
  std::string text;
  for (std::size_t m = 0; m < members_.size() && text.size() < 400; ++m) {
    const Clock& clock = clocks_[m];
    if (clock.item == stream_.size() || stream_[clock.item].type == ComputeItem::Type::end)
      continue;
    text += fmt::format("{}rank {} at '{}'", text.empty() ? "" : ", ", members_[m].rank,
                        stream_.name(clock.item));
  }
  return text;
}

}  // namespace gradwire
