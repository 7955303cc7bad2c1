#include <algorithm>
#include <span>
#include <utility>

#include "sim/engine/fair_rates.hpp"
#include "sim/engine/water_level.hpp"

namespace gradwire {

/// Finds the streams that get a new rate.
void FairRates::meet() {
  ++round_;
  met_.clear();
  std::uint32_t met_end = 1;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (of_filling_[index].was == Transport::no_cap) guess(index);
    row.left = row.capacity - row.load;
    row.left_weight = 0;
    row.met_begin = met_end;
    row.met_count = 0;
    met_end += static_cast<std::uint32_t>(members_[index].size());
  }
  if (met_of_.size() <= met_end) met_of_.resize(2 * std::size_t{met_end});
  for (const std::uint32_t index : filling_) meet_limited(index);
  joined_begin_ = met_.size();
  for (const StreamId id : joined_) {
    if (is_met(id)) continue;
    streams_[id].round = round_;
    meet(id);
  }
  joined_end_ = met_.size();
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    if (row.left_weight == row.weight) row.left = row.capacity;  // no rounding of former loads
  }
}

void FairRates::meet_limited(std::uint32_t index) {
  Row& row = rows_[index];
  const LimitedList& list = limited_[index];
  Filling& filling = of_filling_[index];
  filling.own_begin = row.met_count;
  const bool all_met = list.streams.size() == members_[index].size();  // then `left` is known
  const double all = limited_rate_[index];
  // Sums of their own: a row's would wait for memory each time.
  double ceiling = Transport::no_cap;
  double left = row.left;
  double left_weight = row.left_weight;
  const RowUse* others = list.others.data();
  for (std::size_t at = 0; at < list.streams.size(); ++at, others += others_most_) {
    const Limited& one = list.streams[at];
    double lowest = one.bound;
    for (std::uint32_t i = 0; i < one.others; ++i) {
      lowest = std::min(lowest, level_beside_[others[i].row]);
    }
    const double weight = one.weight * static_cast<double>(one.count);
    left_weight += weight;
    if (!all_met) left += weight * (all != unlike ? all : rate_[one.stream]);
    if (lowest == is_filling) {
      number(index, at);
      count(met_.back());
    } else {
      ceiling = std::min(ceiling, lowest);
    }
  }
  filling.own_end = row.met_count;
  filling.alone =
      static_cast<std::uint32_t>(list.streams.size()) - (filling.own_end - filling.own_begin);
  filling.ceiling = ceiling;
  row.left = left;
  row.left_weight = left_weight;
}

void FairRates::meet(StreamId id) {
  const Stream& stream = streams_[id];
  const auto uses = uses_of(stream);
  Met& met = met_.emplace_back();
  met.id = id;
  met.uses_count = static_cast<std::uint32_t>(uses.size());
  met.uses = uses.data();
  met.count = stream.count;
  met.rate = rate(id);
  met.ceiling = stream.bound;
  find_ceiling(met);
  count(met);
}

void FairRates::number(std::uint32_t index, std::size_t limited_at) {
  const Limited& one = limited_[index].streams[limited_at];
  const double all = limited_rate_[index];
  // In place: 16 bytes read behind two stores of 8 would wait for both.
  Met& met = met_.emplace_back();
  met.id = one.stream;
  met.row = index;
  met.weight = one.weight;
  met.limited_at = static_cast<std::uint32_t>(limited_at);
  met.uses_count = one.others;
  met.uses = limited_[index].others.data() + limited_at * others_most_;
  met.count = one.count;
  met.rate = all != unlike ? all : rate_[one.stream];
  met.ceiling = one.bound;
  find_ceiling(met);
}

void FairRates::find_ceiling(Met& met) const {
  double ceiling = met.ceiling;
  std::uint32_t limit = no_row;
  for (const RowUse& use : std::span(met.uses, met.uses_count)) {
    const double level = level_[use.row];
    const bool lower = level < ceiling;
    ceiling = lower ? level : ceiling;
    limit = lower ? use.row : limit;
  }
  met.ceiling = ceiling;
  met.next_limit = limit;
}

void FairRates::count(const Met& met) {
  const auto number = static_cast<std::uint32_t>(met_.size() - 1);
  for (const RowUse& use : std::span(met.uses, met.uses_count)) {
    // Of a row that is not filled anew `left` is set when it is asked for: no branch is guessed.
    Row& row = rows_[use.row];
    const double weight = use.weight * met.count;
    row.left += weight * met.rate;
    row.left_weight += weight;
    met_of_[row.met_begin + row.met_count] = number;
    row.met_count += row.filled;
  }
  if (met.row == no_row) return;
  Row& row = rows_[met.row];
  met_of_[row.met_begin + row.met_count++] = number;
}

void FairRates::meet_alone(std::uint32_t index) {
  Row& row = rows_[index];
  Filling& filling = of_filling_[index];
  own_.clear();
  visit_limited(
      index, [&](std::uint32_t met) { own_.push_back(met); },
      [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          own_.push_back(static_cast<std::uint32_t>(met_.size()));
          number(index, i);
        }
      });
  const auto begin = met_of_.begin() + row.met_begin;
  std::copy_backward(begin + filling.own_end, begin + row.met_count,
                     begin + row.met_count + filling.alone);
  std::ranges::copy(own_, begin + filling.own_begin);
  filling.own_end += filling.alone;
  row.met_count += filling.alone;
  filling.alone = 0;
  filling.ceiling = Transport::no_cap;
}

void FairRates::guess(std::uint32_t index) {
  Row& row = rows_[index];
  // Without the rounding of former changes: a row that is overfull has somebody who is too fast.
  double load = 0;
  const auto& members = members_[index];
  demands_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    fetch(members, i);
    const Member& member = members[i];
    const double weight = member.weight;
    const double rate = this->rate(member.stream);
    load += weight * rate;
    demands_[i] = {member.stream, weight, rate, rate};
    if (limit_[member.stream] == index) demands_[i].demand = Transport::no_cap;
  }
  row.load = load;
  double& was = of_filling_[index].was;
  was = water_level(row.capacity, demands_,
                    [](const Demand& one) { return std::pair(one.weight, one.demand); });
  double fastest = 0;
  for (const Demand& one : demands_) {
    if (one.rate > was) {
      joined_.push_back(one.stream);
    } else if (one.demand <= was) {
      fastest = std::max(fastest, one.rate);
    }
  }
  of_beside_[index].fastest = fastest;  // those that join are noted with their new rates
}

void FairRates::join_faster(std::uint32_t row, double level) {
  double fastest = 0;
  for (const Member& member : members_[row]) {
    const double rate = this->rate(member.stream);
    if (rate <= fastest || is_met(member.stream)) continue;
    if (rate > level) {
      joined_.push_back(member.stream);
    } else {
      fastest = rate;
    }
  }
  of_beside_[row].fastest = fastest;  // those that are met, or join, are noted with their new rates
}

}  // namespace gradwire
