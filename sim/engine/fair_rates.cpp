#include "sim/engine/fair_rates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace gradwire {
namespace {

/// A row is full within this share of its capacity: sums over some thousand members are exact to
/// 1e-13.
constexpr double full_within = 1e-12;
/// A rate that is the same up to this share stays as it was.
constexpr double same_rate = 1e-14;

/// Rows that others keep from ever being full: what they let through is no more than its capacity.
std::vector<bool> never_full(const FlowProblem& problem) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> columns_of(
      problem.capacity.size());  // row -> columns and weights
  for (std::uint32_t column = 0; column < problem.columns.size(); ++column) {
    for (const RowUse& use : problem.columns[column]) {
      columns_of[use.row].emplace_back(column, use.weight);
    }
  }
  std::vector<std::uint32_t> widest_first(problem.capacity.size());
  std::iota(widest_first.begin(), widest_first.end(), 0U);
  std::ranges::stable_sort(widest_first, std::greater<>(),
                           [&](std::uint32_t row) { return problem.capacity[row]; });
  std::vector<bool> dropped(problem.capacity.size(), false);
  for (const std::uint32_t row : widest_first) {
    std::map<std::uint32_t, double> through;  // other row -> most that this row gets from it
    bool covered = true;
    for (const auto& [column, weight] : columns_of[row]) {
      std::uint32_t narrow = row;
      double least = Transport::no_cap;
      for (const RowUse& use : problem.columns[column]) {
        if (use.row == row || dropped[use.row]) continue;
        const double most = problem.capacity[use.row] * weight / use.weight;
        if (most < least) {
          least = most;
          narrow = use.row;
        }
      }
      covered = narrow != row;
      if (!covered) break;
      double& most = through[narrow];
      most = std::max(most, least);
    }
    double sum = 0;
    for (const auto& [other, most] : through) sum += most;
    dropped[row] = covered && sum <= problem.capacity[row];
  }
  return dropped;
}

}  // namespace

FairRates::FairRates(const FlowProblem& problem, double slack)
    : slack_(std::max(slack, full_within)),
      rows_(problem.capacity.size()),
      level_(rows_.size(), Transport::no_cap),
      members_(rows_.size()) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    assert(std::isfinite(problem.capacity[row]) && problem.capacity[row] > 0);
    rows_[row].capacity = problem.capacity[row];
  }
  const std::vector<bool> dropped = never_full(problem);
  std::map<std::vector<RowUse>, std::uint32_t> known;
  begin_.push_back(0);
  for (const auto& column : problem.columns) {
    std::vector<RowUse> uses;
    std::ranges::copy_if(column, std::back_inserter(uses),
                         [&](const RowUse& use) { return !dropped[use.row]; });
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(uses, next);
    way_.push_back(found->second);
    if (!is_new) continue;
    uses_.insert(uses_.end(), uses.begin(), uses.end());
    begin_.push_back(uses_.size());
  }
  present_.resize(known.size());
}

FairRates::StreamId FairRates::stream_of(std::uint32_t way, double cap) {
  for (const StreamId id : present_[way]) {
    if (streams_[id].cap == cap) return id;
  }
  StreamId id = 0;
  if (free_.empty()) {
    id = static_cast<StreamId>(streams_.size());
    streams_.emplace_back();
    position_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  streams_[id] = {.uses = uses_of(way), .cap = cap, .way = way};
  present_[way].push_back(id);
  enter_rows(id);
  return id;
}

void FairRates::enter_rows(StreamId id) {
  position_[id].clear();
  std::uint32_t number = 0;
  for (const RowUse& use : streams_[id].uses) {
    position_[id].push_back(static_cast<std::uint32_t>(members_[use.row].size()));
    members_[use.row].push_back({id, number++});
  }
}

void FairRates::leave_rows(StreamId id) {
  std::size_t number = 0;
  for (const RowUse& use : streams_[id].uses) {
    auto& members = members_[use.row];
    const std::uint32_t hole = position_[id][number++];
    members[hole] = members.back();
    members.pop_back();
    if (hole < members.size()) position_[members[hole].stream][members[hole].use] = hole;
    if (members.empty()) rows_[use.row].load = 0;
  }
}

FairRates::StreamId FairRates::add(std::uint32_t column, double cap) {
  assert(cap > 0);
  const StreamId id = stream_of(way_[column], cap);
  Stream& stream = streams_[id];
  assert(!stream.uses.empty());
  const bool is_new = stream.count++ == 0;
  for (const RowUse& use : stream.uses) rows_[use.row].weight += use.weight;
  if (is_new) {
    // What the others have on its full rows.
    double rate = cap;
    for (const RowUse& use : stream.uses) rate = std::min(rate, level_[use.row]);
    if (rate == Transport::no_cap) {
      fill_anew(narrowest(stream));
      return id;
    }
    stream.rate = rate;
    changed_.push_back(id);
  }
  for (const RowUse& use : stream.uses) {
    Row& row = rows_[use.row];
    row.load += use.weight * stream.rate;
    if (row.load > row.capacity * (1 + full_within)) fill_anew(use.row);
  }
  return id;
}

void FairRates::remove(StreamId id) {
  Stream& stream = streams_[id];
  --stream.count;
  for (const RowUse& use : stream.uses) {
    Row& row = rows_[use.row];
    row.weight -= use.weight;
    row.load -= use.weight * stream.rate;
    if (is_full(use.row) && row.load < row.capacity * (1 - slack_)) fill_anew(use.row);
  }
  if (stream.count > 0) return;
  leave_rows(id);
  std::erase(present_[stream.way], id);
  free_.push_back(id);
}

void FairRates::fill_anew(std::uint32_t row) {
  if (std::exchange(rows_[row].filling, true)) return;
  level_[row] = Transport::no_cap;
  filling_.push_back(row);
}

std::uint32_t FairRates::narrowest(const Stream& stream) const {
  const auto share = [&](const RowUse& use) {
    return rows_[use.row].capacity / rows_[use.row].weight;
  };
  return std::ranges::min_element(stream.uses, {}, share)->row;
}

std::span<const FairRates::StreamId> FairRates::update() {
  if (!filling_.empty()) {
    do {
      meet();
      fill();
    } while (!settle());
    commit();
  }
  told_.swap(changed_);
  changed_.clear();
  return told_;
}

/// Finds the streams of the rows that are filled anew.
void FairRates::meet() {
  ++round_;
  met_.clear();
  for (const std::uint32_t index : filling_) {
    rows_[index].left = rows_[index].capacity;
    rows_[index].left_weight = rows_[index].weight;
    for (const Member& member : members_[index]) {
      Stream& stream = streams_[member.stream];
      if (stream.round == round_) continue;
      stream.round = round_;
      stream.next = unknown;
      stream.ceiling = stream.cap;
      for (const RowUse& use : stream.uses)
        stream.ceiling = std::min(stream.ceiling, level_[use.row]);
      met_.push_back(member.stream);
    }
  }
}

void FairRates::fill() {
  lowest_.clear();
  const auto level = [&](std::uint32_t row) { return rows_[row].left / rows_[row].left_weight; };
  for (const std::uint32_t row : filling_) {
    if (!members_[row].empty()) lowest_.emplace_back(level(row), row);
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
  for (const Member& member : members_[row]) {
    Stream& stream = streams_[member.stream];
    if (stream.next != unknown || stream.ceiling > level) continue;
    give(stream, stream.ceiling);
    held = true;
  }
  if (held) return;
  for (const Member& member : members_[row]) {
    Stream& stream = streams_[member.stream];
    if (stream.next == unknown) give(stream, level);
  }
  level_[row] = level;
}

void FairRates::give(Stream& stream, double rate) {
  if (std::abs(rate - stream.rate) <= same_rate * rate) rate = stream.rate;
  stream.next = rate;
  for (const RowUse& use : stream.uses) {
    Row& row = rows_[use.row];
    if (!row.filling) continue;
    const double weight = use.weight * stream.count;
    row.left -= weight * rate;
    row.left_weight -= weight;
  }
}

bool FairRates::settle() {
  for (const StreamId id : met_) {
    const Stream& stream = streams_[id];
    if (stream.next == stream.rate) continue;
    for (const RowUse& use : stream.uses) {
      Row& row = rows_[use.row];
      if (row.filling) continue;
      if (!std::exchange(row.touched, true)) {
        row.left = row.load;
        touched_.push_back(use.row);
      }
      row.left += use.weight * stream.count * (stream.next - stream.rate);
    }
  }
  const auto moved = [&](std::uint32_t index) {
    const Row& row = rows_[index];
    const double over = row.left - row.capacity;
    return over > full_within * row.capacity || (is_full(index) && over < -slack_ * row.capacity);
  };
  const std::size_t filled = filling_.size();
  for (const std::uint32_t row : touched_) {
    if (moved(row)) filling_.push_back(row);
  }
  if (filling_.size() == filled) return true;
  for (const std::uint32_t row : touched_) rows_[row].touched = false;
  touched_.clear();
  // Of the rows filled before, levels are sought again.
  for (const std::uint32_t row : filling_) {
    rows_[row].filling = true;
    level_[row] = Transport::no_cap;
  }
  return false;
}

void FairRates::commit() {
  for (const std::uint32_t row : touched_) {
    rows_[row].touched = false;
    rows_[row].load = rows_[row].left;
  }
  for (const std::uint32_t row : filling_) {
    rows_[row].filling = false;
    rows_[row].load = rows_[row].capacity - rows_[row].left;
  }
  for (const StreamId id : met_) {
    Stream& stream = streams_[id];
    if (stream.next == stream.rate) continue;
    stream.rate = stream.next;
    changed_.push_back(id);
  }
  touched_.clear();
  filling_.clear();
}

}  // namespace gradwire
