#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "sim/engine/fair_rates.hpp"
#include "sim/engine/water_level.hpp"

namespace gradwire {
namespace {

/// A rate that is the same up to this share stays as it was.
constexpr double same_rate = 1e-14;

}  // namespace

FairRates::Changes FairRates::update() {
  told_rows_.clear();
  share_turns();
  fill_all();
  leave_rest();
  fill_all();
  told_.swap(changed_);
  changed_.clear();
  return {told_, told_rows_};
}

void FairRates::fill_all() {
  if (filling_.empty()) return;
  do {
    meet();
    fill();
  } while (!settle());
  commit();
}

/// Finds the streams that get a new rate.
void FairRates::meet() {
  ++round_;
  met_.clear();
  std::uint32_t met_end = 1;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (was_[index] == Transport::no_cap) guess(index);
    row.left = row.capacity - row.load;
    row.left_weight = 0;
    row.met_begin = met_end;
    row.met_count = 0;
    met_end += static_cast<std::uint32_t>(members_[index].size());
  }
  if (met_of_.size() <= met_end) met_of_.resize(2 * std::size_t{met_end});
  for (const std::uint32_t index : filling_) {
    const auto& limited = limited_[index];
    for (std::size_t i = 0; i < limited.size(); ++i) {
      fetch(limited, i);
      meet(limited[i]);
    }
  }
  for (const StreamId id : joined_) meet(id);
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (row.left_weight == row.weight) row.left = row.capacity;  // no rounding of former loads
  }
}

void FairRates::meet(StreamId id) {
  Stream& stream = streams_[id];
  if (stream.round == round_) return;
  stream.round = round_;
  const auto number = static_cast<std::uint32_t>(met_.size());
  const double count = stream.count;
  const double rate = stream.rate;
  double ceiling = stream.bound;
  std::uint32_t limit = no_row;
  for (const RowUse& use : uses_of(stream)) {
    // Of a row that is not filled anew `left` is set when it is asked for: no branch is guessed.
    Row& row = rows_[use.row];
    const double weight = use.weight * count;
    row.left += weight * rate;
    row.left_weight += weight;
    met_of_[row.met_begin + row.met_count] = number;
    row.met_count += row.filled;
    const bool lower = level_[use.row] < ceiling;
    ceiling = lower ? level_[use.row] : ceiling;
    limit = lower ? use.row : limit;
  }
  met_.push_back({.id = id,
                  .next_limit = limit,
                  .uses_begin = stream.uses_begin,
                  .uses_end = stream.uses_end,
                  .count = count,
                  .rate = rate,
                  .ceiling = ceiling});
}

void FairRates::guess(std::uint32_t index) {
  Row& row = rows_[index];
  // Without the rounding of former changes: a row that is overfull has somebody who is too fast.
  row.load = 0;
  const auto& members = members_[index];
  demands_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    fetch(members, i);
    const Member& member = members[i];
    const Stream& stream = streams_[member.stream];
    const double weight = member.weight * static_cast<double>(stream.count);
    row.load += weight * stream.rate;
    demands_[i] = {member.stream, weight, stream.rate, stream.rate};
    if (stream.limit == index) demands_[i].demand = Transport::no_cap;
  }
  was_[index] = water_level(row.capacity, demands_,
                            [](const Demand& one) { return std::pair(one.weight, one.demand); });
  for (const Demand& one : demands_) {
    if (one.rate > was_[index]) joined_.push_back(one.stream);
  }
}

void FairRates::join_faster(std::uint32_t row, double rate) {
  const auto& members = members_[row];
  std::size_t not_met = members.size() - rows_[row].met_count;
  for (std::size_t i = 0; not_met > 0; ++i) {
    fetch(members, i);
    const Member& member = members[i];
    const Stream& stream = streams_[member.stream];
    if (stream.round == round_) continue;
    --not_met;
    if (stream.rate > rate) joined_.push_back(member.stream);
  }
}

void FairRates::fill() {
  lowest_.clear();
  const auto level = [&](std::uint32_t row) { return rows_[row].left / rows_[row].left_weight; };
  for (const std::uint32_t row : filling_) {
    if (rows_[row].left_weight > 0) lowest_.emplace_back(level(row), row);
  }
  std::make_heap(lowest_.begin(), lowest_.end(), std::greater<>());
  while (!lowest_.empty()) {
    std::pop_heap(lowest_.begin(), lowest_.end(), std::greater<>());
    const auto [noted, row] = lowest_.back();
    lowest_.pop_back();
    if (rows_[row].left_weight == 0) continue;
    // Levels only rise while lower rows are filled.
    if (level(row) <= noted) fill_row(row);
    if (rows_[row].left_weight == 0) continue;
    lowest_.emplace_back(level(row), row);
    std::push_heap(lowest_.begin(), lowest_.end(), std::greater<>());
  }
}

void FairRates::fill_row(std::uint32_t row) {
  const double level = std::max(0.0, rows_[row].left / rows_[row].left_weight);
  const std::span numbers(met_of_.data() + rows_[row].met_begin, rows_[row].met_count);
  bool held = false;
  for (const std::uint32_t number : numbers) {
    Met& met = met_[number];
    if (met.next != unknown || met.ceiling > level) continue;
    give(met, met.ceiling);
    held = true;
  }
  if (held) return;
  for (const std::uint32_t number : numbers) {
    Met& met = met_[number];
    if (met.next != unknown) continue;
    met.next_limit = row;
    give(met, level);
  }
  level_[row] = level;
}

void FairRates::give(Met& met, double rate) {
  if (std::abs(rate - met.rate) <= same_rate * rate) rate = met.rate;
  met.next = rate;
  for (const RowUse& use : uses_of(met)) {
    Row& row = rows_[use.row];
    const double weight = use.weight * met.count;
    row.left -= weight * rate;
    row.left_weight -= weight;
  }
}

bool FairRates::settle() {
  beside_.clear();
  for (const Met& met : met_) {
    if (met.next == met.rate) continue;
    const double faster = met.count * (met.next - met.rate);
    const auto uses = uses_of(met);
    for (std::size_t i = uses.size(); i-- > 0;) {
      const auto& use = uses[i];
      Row& row = rows_[use.row];
      if (row.filled == 1) continue;
      if (std::exchange(row.round, round_) != round_) {
        row.left = row.load;
        beside_.push_back(use.row);
      }
      row.left += use.weight * faster;
    }
  }
  const std::size_t filled = filling_.size();
  const bool streams_stay = settle_streams();
  for (const std::uint32_t row : beside_) {
    if (is_off(row, rows_[row].left)) fill_anew(row);
  }
  if (streams_stay && filling_.size() == filled) return true;
  // Of the rows filled before, levels are sought again.
  for (const std::uint32_t row : filling_) level_[row] = Transport::no_cap;
  return false;
}

bool FairRates::settle_streams() {
  const std::size_t joined = joined_.size();
  bool stay = true;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (level_[index] < was_[index]) {
      // Those that it meets are as fast as it lets them be.
      if (row.met_count < members_[index].size()) {
        join_faster(index, level_[index] * (1 + full_within));
      }
    } else if (row.left < -full_within * row.capacity) {
      was_[index] = Transport::no_cap;  // those that it met leave too little
      stay = false;
    }
  }
  return stay && joined_.size() == joined;
}

void FairRates::commit() {
  for (const std::uint32_t row : beside_) {
    rows_[row].load = rows_[row].left;
    note_turns(row);
  }
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    row.load = row.capacity - row.left;
    row.met_begin = row.met_count = row.filled = 0;
    note_turns(index);
  }
  for (const Met& met : met_) {
    limit_by(met.id, met.next_limit);
    if (met.next == met.rate) continue;
    streams_[met.id].rate = met.next;
    if (met.next_limit == no_row) changed_.push_back(met.id);
  }
  joined_.clear();
  told_rows_.insert(told_rows_.end(), filling_.begin(), filling_.end());
  filling_.clear();
}

}  // namespace gradwire
