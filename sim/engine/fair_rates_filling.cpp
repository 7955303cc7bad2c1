#include <algorithm>
#include <cmath>
#include <functional>
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
  if (!filling_.empty()) {
    do {
      meet();
      fill();
    } while (!settle());
    commit();
  }
  told_.swap(changed_);
  changed_.clear();
  return {told_, told_rows_};
}

/// Finds the streams that get a new rate.
void FairRates::meet() {
  ++round_;
  met_.clear();
  met_uses_end_ = 0;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (row.was == Transport::no_cap) guess(index);
    row.left = row.capacity - row.load;
    row.left_weight = 0;
    met_of_[index].clear();
  }
  for (const std::uint32_t index : filling_) {
    for (const StreamId id : limited_[index]) meet(id);
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
  const auto uses = uses_of(stream);
  const auto number = static_cast<std::uint32_t>(met_.size());
  Met& met = met_.emplace_back();
  met.id = id;
  met.uses_begin = met.sides_begin = met_uses_end_;
  met.uses_end = met_uses_end_ += static_cast<std::uint32_t>(uses.size());
  if (met_uses_.size() < met_uses_end_) met_uses_.resize(2 * std::size_t{met_uses_end_});
  met.count = stream.count;
  met.rate = stream.rate;
  met.ceiling = stream.bound;
  std::uint32_t sides = met.uses_end;
  for (const RowUse& use : uses) {
    if (is_filling_[use.row] == 1) {
      Row& row = rows_[use.row];
      const double weight = use.weight * met.count;
      row.left += weight * met.rate;
      row.left_weight += weight;
      met_of_[use.row].push_back(number);
      met_uses_[met.sides_begin++] = use;
      continue;
    }
    met_uses_[--sides] = use;
    if (level_[use.row] >= met.ceiling) continue;
    met.ceiling = level_[use.row];
    met.next_limit = use.row;
  }
}

void FairRates::guess(std::uint32_t index) {
  Row& row = rows_[index];
  // Without the rounding of former changes: a row that is overfull has somebody who is too fast.
  row.load = 0;
  demands_.clear();
  for (const Member& member : members_[index]) {
    const Stream& stream = streams_[member.stream];
    const double weight = member.weight * static_cast<double>(stream.count);
    row.load += weight * stream.rate;
    demands_.push_back({member.stream, weight, stream.rate, stream.rate});
    if (stream.limit == index) demands_.back().demand = Transport::no_cap;
  }
  row.was = water_level(row.capacity, demands_,
                        [](const Demand& one) { return std::pair(one.weight, one.demand); });
  for (const Demand& one : demands_) {
    if (one.rate > row.was) joined_.push_back(one.stream);
  }
}

void FairRates::join_faster(std::uint32_t row, double rate) {
  for (const Member& member : members_[row]) {
    const Stream& stream = streams_[member.stream];
    if (stream.round != round_ && stream.rate > rate) joined_.push_back(member.stream);
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
  bool held = false;
  for (const std::uint32_t number : met_of_[row]) {
    Met& met = met_[number];
    if (met.next != unknown || met.ceiling > level) continue;
    give(met, met.ceiling);
    held = true;
  }
  if (held) return;
  for (const std::uint32_t number : met_of_[row]) {
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
  for (std::uint32_t i = met.uses_begin; i < met.sides_begin; ++i) {
    const auto [index, uses] = met_uses_[i];
    Row& row = rows_[index];
    const double weight = uses * met.count;
    row.left -= weight * rate;
    row.left_weight -= weight;
  }
}

bool FairRates::settle() {
  for (const Met& met : met_) {
    if (met.next == met.rate) continue;
    const double faster = met.count * (met.next - met.rate);
    for (std::uint32_t i = met.sides_begin; i < met.uses_end; ++i) {
      const auto [index, uses] = met_uses_[i];
      Row& row = rows_[index];
      if (!std::exchange(row.touched, true)) {
        row.left = row.load;
        touched_.push_back(index);
      }
      row.left += uses * faster;
    }
  }
  const std::size_t filled = filling_.size();
  const bool streams_stay = settle_streams();
  for (const std::uint32_t row : touched_) {
    if (is_off(row, rows_[row].left)) fill_anew(row);
  }
  if (streams_stay && filling_.size() == filled) return true;
  for (const std::uint32_t row : touched_) rows_[row].touched = false;
  touched_.clear();
  // Of the rows filled before, levels are sought again.
  for (const std::uint32_t row : filling_) level_[row] = Transport::no_cap;
  return false;
}

bool FairRates::settle_streams() {
  const std::size_t joined = joined_.size();
  bool stay = true;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (level_[index] < row.was) {
      join_faster(index, level_[index] * (1 + full_within));
    } else if (row.left < -full_within * row.capacity) {
      row.was = Transport::no_cap;  // those that it met leave too little
      stay = false;
    }
  }
  return stay && joined_.size() == joined;
}

void FairRates::commit() {
  for (const std::uint32_t row : touched_) {
    rows_[row].touched = false;
    rows_[row].load = rows_[row].left;
  }
  for (const std::uint32_t row : filling_) {
    is_filling_[row] = 0;
    rows_[row].load = rows_[row].capacity - rows_[row].left;
  }
  for (const Met& met : met_) {
    limit_by(met.id, met.next_limit);
    if (met.next == met.rate) continue;
    streams_[met.id].rate = met.next;
    if (met.next_limit == no_row) changed_.push_back(met.id);
  }
  joined_.clear();
  touched_.clear();
  told_rows_.swap(filling_);
}

}  // namespace gradwire
