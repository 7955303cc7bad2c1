#include "strategies/sharded/issue_order.hpp"

#include <cassert>
#include <utility>

namespace gradwire {

IssueOrder::Ticket IssueOrder::issue(Collective collective, const std::vector<OperationId>& after,
                                     bool held) {
  Entry entry{.collective = std::move(collective), .after = {}, .held = held};
  for (const OperationId operation : after) {
    if (pending_.contains(operation)) entry.after.insert(operation);
  }
  entries_.push_back(std::move(entry));
  return first_ + entries_.size() - 1;
}

void IssueOrder::release(Ticket ticket) {
  assert(ticket >= first_ && ticket < first_ + entries_.size());
  entries_[ticket - first_].held = false;
}

void IssueOrder::ended(OperationId operation) {
  if (pending_.erase(operation) == 0) return;
  for (Entry& entry : entries_) entry.after.erase(operation);
}

void IssueOrder::start(const std::function<void(Ticket, Collective)>& post) {
  while (!entries_.empty() && entries_.front().after.empty() && !entries_.front().held) {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    post(first_++, std::move(entry.collective));
  }
}

}  // namespace gradwire
