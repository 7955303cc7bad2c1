#include <algorithm>
#include <utility>

#include "sim/engine/fair_rates.hpp"
#include "sim/engine/water_level.hpp"

namespace gradwire {
namespace {

/// When all have had their shares for so many windows, flows that had too much or too little are
/// over (incremental_transport.cpp: 10 windows are their mean time), and what is owed is forgotten:
/// so that an iteration behind a pause is as the one before it.
constexpr double windows_kept = 10;

}  // namespace

void FairRates::set_capacity(std::uint32_t row, double capacity) {
  rows_[row].capacity = capacity;
  check_load(row);
}

void FairRates::share_turns(double now, double window) {
  for (const std::uint32_t index : asked_) {
    Turns& turns = turns_[index];
    turns.asked = false;
    const double share = others_share(turns);
    turns.share.change(now, share);
    if (!std::exchange(turns.lags, true)) lagging_.push_back(index);
    // Where the others take it all, this is what they leave.
    set_capacity(turns.copies, std::max(turns.capacity - share, 0.0));
    if (!std::exchange(turns.moved, true)) moved_.push_back(index);
  }
  asked_.clear();
  if (lagging_.empty()) return;
  if (window > 0 && window_end_ == Transport::no_cap) {
    if (now - level_since_ > windows_kept * window) {
      for (Turns& turns : turns_) turns.share.forget();
    }
    window_end_ = now + window;
  }
  if (window == 0 || now >= window_end_) give_shares(now, window);
}

void FairRates::give_shares(double now, double window) {
  std::erase_if(lagging_, [&](std::uint32_t index) {
    Turns& turns = turns_[index];
    set_capacity(turns.others, std::min(turns.share.next(now, window), turns.most));
    if (!std::exchange(turns.moved, true)) moved_.push_back(index);
    turns.lags = window > 0 && !turns.share.is_level();
    return !turns.lags;
  });
  window_end_ = lagging_.empty() ? Transport::no_cap : now + window;
  level_since_ = now;
}

double FairRates::others_share(const Turns& turns) {
  demands_.clear();
  for (const Member& member : members_[turns.copies]) {
    const Stream& stream = streams_[member.stream];
    const double most = routes_.most[stream.route];
    const double demand = std::min(stream.cap * stream.count, most);
    // Flows of one route class come by one port.
    const auto port = std::ranges::find_if(
        demands_, [&](const Demand& one) { return streams_[one.stream].route == stream.route; });
    if (port != demands_.end()) {
      port->demand = std::min(port->demand + demand, most);
    } else {
      demands_.push_back(
          {member.stream, static_cast<double>(uses_of(stream)[member.use].weight), 0, demand});
    }
  }
  if (demands_.empty()) return turns.capacity;
  demands_.push_back({no_stream, turns.port, 0, Transport::no_cap});
  return turns.port * water_level(turns.capacity, demands_, [](const Demand& one) {
           return std::pair(one.weight, one.demand);
         });
}

void FairRates::leave_rest() {
  // No more are noted meanwhile: the rows of copies are no others'.
  for (const std::uint32_t index : moved_) {
    Turns& turns = turns_[index];
    turns.moved = false;
    if (members_[turns.copies].empty()) continue;
    set_capacity(
        turns.copies,
        std::max(turns.capacity - std::min(turns.share.share(), rows_[turns.others].load), 0.0));
  }
  moved_.clear();
}

}  // namespace gradwire
