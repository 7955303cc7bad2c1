#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "sim/engine/fair_rates.hpp"

namespace gradwire {
namespace {

/// A rate that is the same up to this share stays as it was.
constexpr double same_rate = 1e-14;

double changed_rate(double before, double rate) {
  return std::abs(rate - before) <= same_rate * rate ? before : rate;
}

}  // namespace

FairRates::Changes FairRates::update(double now, double window) {
  told_rows_.clear();
  share_turns(now, window);
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

void FairRates::fill() {
  lowest_.clear();
  const auto level = [&](std::uint32_t row) { return rows_[row].left / rows_[row].left_weight; };
  for (const std::uint32_t row : filling_) {
    // What nobody else meets takes nothing from others.
    while (rows_[row].met_count == 0 && rows_[row].left_weight > 0) fill_row(row);
    if (rows_[row].left_weight > 0) lowest_.emplace_back(level(row), row);
  }
  std::make_heap(lowest_.begin(), lowest_.end(), std::greater<>());
  while (!lowest_.empty()) {
    const auto [noted, row] = lowest_.front();
    // Levels only rise while lower rows are filled.
    if (rows_[row].left_weight > 0 && level(row) <= noted) fill_row(row);
    if (rows_[row].left_weight > 0) {
      put_first({level(row), row});
      continue;
    }
    const auto last = lowest_.back();
    lowest_.pop_back();
    if (!lowest_.empty()) put_first(last);
  }
}

void FairRates::put_first(const std::pair<double, std::uint32_t>& entry) {
  std::size_t place = 0;
  for (std::size_t child = 1; child < lowest_.size(); child = 2 * place + 1) {
    if (child + 1 < lowest_.size() && lowest_[child + 1] < lowest_[child]) ++child;
    if (!(lowest_[child] < entry)) break;
    lowest_[place] = lowest_[child];
    place = child;
  }
  lowest_[place] = entry;
}

void FairRates::fill_row(std::uint32_t row) {
  const double level = std::max(0.0, rows_[row].left / rows_[row].left_weight);
  if (of_filling_[row].ceiling <= level) meet_alone(row);
  bool held = false;
  for (const std::uint32_t number : met_of(row)) {
    Met& met = met_[number];
    if (met.next != unknown || met.ceiling > level) continue;
    give(met, met.ceiling);
    held = true;
  }
  if (held) return;
  level_[row] = level;
  const auto give_one = [&](std::uint32_t number) {
    Met& met = met_[number];
    if (met.next != unknown) return;
    met.next_limit = row;
    give(met, level);
  };
  const auto met = met_of(row);
  std::ranges::for_each(met.first(of_filling_[row].own_begin), give_one);
  visit_limited(row, give_one,
                [&](std::size_t from, std::size_t to) { give_level(row, from, to); });
  std::ranges::for_each(met.subspan(of_filling_[row].own_end), give_one);
}

void FairRates::give(Met& met, double rate) {
  const double next = changed_rate(met.rate, rate);
  met.next = next;
  const double count = met.count;
  const auto take = [&](std::uint32_t index, std::uint32_t use_weight) {
    Row& row = rows_[index];
    const double weight = use_weight * count;
    row.left -= weight * next;
    row.left_weight -= weight;
  };
  if (met.row != no_row) take(met.row, met.weight);
  for (const RowUse& use : std::span(met.uses, met.uses_count)) take(use.row, use.weight);
}

void FairRates::give_level(std::uint32_t index, std::size_t from, std::size_t to) {
  Row& row = rows_[index];
  const LimitedList& list = limited_[index];
  const double all = limited_rate_[index];
  const double level = level_[index];
  double next = changed_rate(all, level);
  double left = row.left;
  double left_weight = row.left_weight;
  for (std::size_t i = from; i < to; ++i) {
    const Limited& one = list.streams[i];
    const double weight = one.weight * static_cast<double>(one.count);
    if (all == unlike) next = changed_rate(rate_[one.stream], level);
    left -= weight * next;
    left_weight -= weight;
  }
  row.left = left;
  row.left_weight = left_weight;
}

bool FairRates::settle() {
  beside_.clear();
  const std::size_t filled = filling_.size();
  const bool streams_stay = settle_streams();
  for (const std::uint32_t index : filling_) {
    visit_limited(
        index, [&](std::uint32_t number) { settle(met_[number]); },
        [&](std::size_t from, std::size_t to) { settle_alone(index, from, to); });
  }
  for (std::size_t i = joined_begin_; i < joined_end_; ++i) settle(met_[i]);
  for (const std::uint32_t row : beside_) {
    if (is_off(row, of_beside_[row].load)) fill_anew(row);
  }
  if (streams_stay && filling_.size() == filled) return true;
  // Of the rows filled before, levels are sought again.
  for (const std::uint32_t row : filling_) level_[row] = Transport::no_cap;
  return false;
}

void FairRates::settle(const Met& met) {
  const double faster = met.count * (met.next - met.rate);
  for (std::uint32_t i = met.uses_count; i-- > 0;) {
    const RowUse& use = met.uses[i];
    if (use.row != met.next_limit) note_rate(use.row, met.next);
    if (faster != 0 && level_beside_[use.row] != is_filling) load_beside(use, faster);
  }
}

void FairRates::settle_alone(std::uint32_t index, std::size_t from, std::size_t to) {
  const LimitedList& list = limited_[index];
  const double all = limited_rate_[index];
  double next = changed_rate(all, level_[index]);
  double faster = next - all;
  if (all != unlike && faster == 0) return;
  for (std::size_t i = from; i < to; ++i) {
    const Limited& one = list.streams[i];
    if (all == unlike) {
      next = changed_rate(rate_[one.stream], level_[index]);
      faster = next - rate_[one.stream];
      if (faster == 0) continue;
    }
    const RowUse* others = list.others.data() + i * others_most_;
    for (std::size_t other = one.others; other-- > 0;) {
      load_beside(others[other], one.count * faster);
      note_rate(others[other].row, next);
    }
  }
}

bool FairRates::settle_streams() {
  const std::size_t joined = joined_.size();
  bool stay = true;
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    Filling& filling = of_filling_[index];
    if (level_[index] < filling.was) {
      // Those that it meets are as fast as it lets them be.
      const double level = level_[index] * (1 + full_within);
      const bool meets_all = row.met_count + filling.alone == members_[index].size();
      if (!meets_all && of_beside_[index].fastest > level) join_faster(index, level);
    } else if (row.left < -full_within * row.capacity) {
      filling.was = Transport::no_cap;  // those that it met leave too little
      stay = false;
    }
  }
  return stay && joined_.size() == joined;
}

void FairRates::commit() {
  for (const std::uint32_t row : beside_) {
    rows_[row].load = of_beside_[row].load;
    note_turns(row);
  }
  for (const std::uint32_t index : filling_) {
    commit_alone(index);
    rows_[index].load = rows_[index].capacity - rows_[index].left;
    note_turns(index);
  }
  const auto commit_one = [this](const Met& met) {
    limit_by(met.id, met.next_limit, met.next);
    if (met.next != met.rate && met.next_limit == no_row) changed_.push_back(met.id);
  };
  for (const std::uint32_t index : filling_) {
    for (const std::uint32_t number : own_met_of(index)) commit_one(met_[number]);
  }
  for (std::size_t i = joined_begin_; i < joined_end_; ++i) commit_one(met_[i]);
  for (const std::uint32_t index : filling_) {
    Row& row = rows_[index];
    row.met_begin = row.met_count = row.filled = 0;
    level_beside_[index] = level_[index];
    liken(index);
  }
  joined_.clear();
  told_rows_.insert(told_rows_.end(), filling_.begin(), filling_.end());
  filling_.clear();
}

void FairRates::commit_alone(std::uint32_t index) {
  if (!is_full(index)) return;  // no stream is met alone, and the others go
  double& all = limited_rate_[index];
  if (all != unlike) {
    all = changed_rate(all, level_[index]);
    return;
  }
  visit_limited(
      index, [](std::uint32_t) {},
      [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          double& rate = rate_[limited_[index].streams[i].stream];
          rate = changed_rate(rate, level_[index]);
        }
      });
}

void FairRates::liken(std::uint32_t index) {
  const auto& streams = limited_[index].streams;
  if (limited_rate_[index] != unlike || streams.empty()) return;
  const double first = rate_[streams.front().stream];
  const bool alike =
      std::ranges::all_of(streams, [&](const Limited& one) { return rate_[one.stream] == first; });
  if (alike) limited_rate_[index] = first;
}

}  // namespace gradwire
