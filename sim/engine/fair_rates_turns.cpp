#include <algorithm>
#include <utility>

#include "sim/engine/fair_rates.hpp"
#include "sim/engine/water_level.hpp"

namespace gradwire {

void FairRates::ask_turns(std::uint32_t row) {
  const std::uint32_t index = rows_[row].turns;
  if (index == no_row) return;
  Turns& turns = turns_[index];
  if (row == turns.copies && !std::exchange(turns.asked, true)) asked_.push_back(index);
}

void FairRates::note_turns(std::uint32_t row) {
  const std::uint32_t index = rows_[row].turns;
  if (index == no_row) return;
  Turns& turns = turns_[index];
  if (row == turns.others && !std::exchange(turns.moved, true)) moved_.push_back(index);
}

void FairRates::set_capacity(std::uint32_t row, double capacity) {
  rows_[row].capacity = capacity;
  check_load(row);
}

void FairRates::share_turns() {
  for (const std::uint32_t index : asked_) {
    Turns& turns = turns_[index];
    turns.asked = false;
    const double share = others_share(turns);
    set_capacity(turns.others, share);
    // Where the others take it all, this is what they leave.
    set_capacity(turns.copies, std::max(turns.capacity - share, 0.0));
    if (!std::exchange(turns.moved, true)) moved_.push_back(index);
  }
  asked_.clear();
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
    set_capacity(turns.copies, std::max(turns.capacity - rows_[turns.others].load, 0.0));
  }
  moved_.clear();
}

}  // namespace gradwire
