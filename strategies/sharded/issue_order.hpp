#pragma once

#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "strategies/parts/operation_writer.hpp"

namespace gradwire {

/// A process group's one communication stream as the host fills it: collectives start in the order
/// in which they were issued, and one whose input is not there holds up those behind it.
class IssueOrder {
 public:
  using Ticket = std::size_t;

  /// Issues a collective.
  /// @param after  operations that it waits for; those that have ended before count as ended.
  /// @param held   it also waits for release().
  /// @return which one it is, counted from 0.
  Ticket issue(Collective collective, const std::vector<OperationId>& after, bool held);
  void release(Ticket ticket);

  /// `operation` will tell its end: who waits for it waits.
  void expect(OperationId operation) { pending_.insert(operation); }
  /// An operation has ended.
  void ended(OperationId operation);

  /// Takes the collectives that may start now.
  /// @param post  posts one and learns whose it is.
  void start(const std::function<void(Ticket, Collective)>& post);

 private:
  struct Entry {
    Collective collective;
    std::set<OperationId> after;
    bool held = false;
  };

  std::deque<Entry> entries_;
  Ticket first_ = 0;  ///< ticket of entries_.front()
  std::set<OperationId> pending_;
};

}  // namespace gradwire
