#include "sim/engine/fair_rates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "sim/engine/water_level.hpp"

namespace gradwire {
namespace {

/// A row is full within this share of its capacity: sums over some thousand members are exact to
/// 1e-13.
constexpr double full_within = 1e-12;
/// A rate that is the same up to this share stays as it was.
constexpr double same_rate = 1e-14;

}  // namespace

FairRates::FairRates(const FlowProblem& problem, double slack)
    : slack_(std::max(slack, full_within)),
      ways_(problem),
      rows_(problem.capacity.size()),
      level_(rows_.size(), Transport::no_cap),
      members_(rows_.size()),
      limited_(rows_.size()),
      met_of_(rows_.size()),
      present_(ways_.own.size()) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    assert(std::isfinite(problem.capacity[row]) && problem.capacity[row] > 0);
    rows_[row].capacity = problem.capacity[row];
  }
}

FairRates::StreamId FairRates::stream_of(std::uint32_t way, double cap) {
  for (const StreamId id : present_[way]) {
    if (cap_[id] == cap) return id;
  }
  StreamId id = 0;
  if (free_.empty()) {
    id = static_cast<StreamId>(streams_.size());
    streams_.emplace_back();
    cap_.emplace_back();
    position_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  streams_[id] = {
      .way = way, .uses_begin = ways_.begin[way], .uses_end = ways_.begin[way + 1], .bound = cap};
  cap_[id] = cap;
  present_[way].push_back(id);
  enter_rows(id);
  return id;
}

void FairRates::enter_rows(StreamId id) {
  position_[id].clear();
  std::uint32_t number = 0;
  for (const RowUse& use : uses_of(streams_[id])) {
    position_[id].push_back(static_cast<std::uint32_t>(members_[use.row].size()));
    members_[use.row].push_back({id, number++});
  }
}

void FairRates::leave_rows(StreamId id) {
  std::size_t number = 0;
  for (const RowUse& use : uses_of(streams_[id])) {
    auto& members = members_[use.row];
    const std::uint32_t hole = position_[id][number++];
    members[hole] = members.back();
    members.pop_back();
    if (hole < members.size()) position_[members[hole].stream][members[hole].use] = hole;
    if (members.empty()) rows_[use.row].load = 0;
  }
  limit_by(id, no_row);
}

void FairRates::limit_by(StreamId id, std::uint32_t row) {
  Stream& stream = streams_[id];
  if (stream.limit == row) return;
  if (stream.limit != no_row) {
    auto& left = limited_[stream.limit];
    left[stream.limited_at] = left.back();
    streams_[left.back()].limited_at = stream.limited_at;
    left.pop_back();
  }
  stream.limit = row;
  changed_.push_back(id);
  if (row == no_row) return;
  stream.limited_at = static_cast<std::uint32_t>(limited_[row].size());
  limited_[row].push_back(id);
}

FairRates::StreamId FairRates::add(std::uint32_t column, double cap) {
  assert(cap > 0);
  const std::uint32_t way = ways_.of[column];
  const StreamId id = stream_of(way, cap);
  Stream& stream = streams_[id];
  const bool is_new = stream.count++ == 0;
  for (const RowUse& use : uses_of(stream)) {
    rows_[use.row].weight += use.weight;
    rows_[use.row].load += use.weight * stream.rate;
    check_load(use.row);
  }
  bound(way);
  if (is_new && stream.rate == 0) enter(id);
  return id;
}

void FairRates::remove(StreamId id) {
  Stream& stream = streams_[id];
  const std::uint32_t way = stream.way;
  --stream.count;
  for (const RowUse& use : uses_of(stream)) {
    rows_[use.row].weight -= use.weight;
    rows_[use.row].load -= use.weight * stream.rate;
    check_load(use.row);
  }
  if (stream.count == 0) {
    leave_rows(id);
    std::erase(present_[way], id);
    free_.push_back(id);
  }
  bound(way);
}

void FairRates::bound(std::uint32_t way) {
  if (ways_.own[way] == Transport::no_cap) return;
  const auto& present = present_[way];
  const double level = water_level(ways_.own[way], present, [&](StreamId id) {
    return std::pair<double, double>(streams_[id].count, cap_[id]);
  });
  for (const StreamId id : present) {
    Stream& stream = streams_[id];
    stream.bound = std::min(cap_[id], level);
    const bool rises = stream.limit == no_row && stream.rate < stream.bound;
    if (rises || stream.rate > stream.bound) enter(id);
  }
}

void FairRates::enter(StreamId id) {
  Stream& stream = streams_[id];
  assert(stream.bound < Transport::no_cap || !uses_of(stream).empty());
  // What the others have on its full rows.
  double rate = stream.bound;
  std::uint32_t limit = no_row;
  for (const RowUse& use : uses_of(stream)) {
    if (level_[use.row] >= rate) continue;
    rate = level_[use.row];
    limit = use.row;
  }
  if (rate == Transport::no_cap) {
    limit_by(id, narrowest(stream));
    fill_anew(stream.limit);
    return;
  }
  // A row that is filled anew has to meet it.
  for (const RowUse& use : uses_of(stream)) {
    if (rows_[use.row].filling) limit = use.row;
  }
  limit_by(id, limit);
  const double faster = rate - stream.rate;
  stream.rate = rate;
  if (limit == no_row) changed_.push_back(id);
  for (const RowUse& use : uses_of(stream)) {
    rows_[use.row].load += use.weight * stream.count * faster;
    check_load(use.row);
  }
}

bool FairRates::is_off(std::uint32_t row, double load) const {
  const double over = load - rows_[row].capacity;
  return over > full_within * rows_[row].capacity ||
         (is_full(row) && over < -slack_ * rows_[row].capacity);
}

void FairRates::fill_anew(std::uint32_t row) {
  if (std::exchange(rows_[row].filling, true)) return;
  rows_[row].was = std::exchange(level_[row], Transport::no_cap);
  filling_.push_back(row);
}

std::uint32_t FairRates::narrowest(const Stream& stream) const {
  const auto share = [&](const RowUse& use) {
    return rows_[use.row].capacity / rows_[use.row].weight;
  };
  return std::ranges::min_element(uses_of(stream), {}, share)->row;
}

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
  stream.next = unknown;
  stream.ceiling = stream.bound;
  stream.next_limit = no_row;
  for (const RowUse& use : uses_of(stream)) {
    Row& row = rows_[use.row];
    if (row.filling) {
      const double weight = use.weight * stream.count;
      row.left += weight * stream.rate;
      row.left_weight += weight;
      met_of_[use.row].push_back(id);
    } else if (level_[use.row] < stream.ceiling) {
      stream.ceiling = level_[use.row];
      stream.next_limit = use.row;
    }
  }
  met_.push_back(id);
}

void FairRates::guess(std::uint32_t index) {
  Row& row = rows_[index];
  const auto weight_of = [&](const Member& member) {
    const Stream& stream = streams_[member.stream];
    return ways_.uses[stream.uses_begin + member.use].weight * static_cast<double>(stream.count);
  };
  const auto weight_and_rate = [&](const Member& member) {
    const Stream& stream = streams_[member.stream];
    return std::pair(weight_of(member), stream.limit == index ? Transport::no_cap : stream.rate);
  };
  // Without the rounding of former changes: a row that is overfull has somebody who is too fast.
  row.load = 0;
  for (const Member& member : members_[index]) {
    row.load += weight_of(member) * streams_[member.stream].rate;
  }
  row.was = water_level(row.capacity, members_[index], weight_and_rate);
  join_faster(index, row.was);
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
  for (const StreamId id : met_of_[row]) {
    Stream& stream = streams_[id];
    if (stream.next != unknown || stream.ceiling > level) continue;
    give(stream, stream.ceiling);
    held = true;
  }
  if (held) return;
  for (const StreamId id : met_of_[row]) {
    Stream& stream = streams_[id];
    if (stream.next != unknown) continue;
    stream.next_limit = row;
    give(stream, level);
  }
  level_[row] = level;
}

void FairRates::give(Stream& stream, double rate) {
  if (std::abs(rate - stream.rate) <= same_rate * rate) rate = stream.rate;
  stream.next = rate;
  for (const RowUse& use : uses_of(stream)) {
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
    for (const RowUse& use : uses_of(stream)) {
      Row& row = rows_[use.row];
      if (row.filling) continue;
      if (!std::exchange(row.touched, true)) {
        row.left = row.load;
        touched_.push_back(use.row);
      }
      row.left += use.weight * stream.count * (stream.next - stream.rate);
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
    rows_[row].filling = false;
    rows_[row].load = rows_[row].capacity - rows_[row].left;
  }
  for (const StreamId id : met_) {
    Stream& stream = streams_[id];
    limit_by(id, stream.next_limit);
    if (stream.next == stream.rate) continue;
    stream.rate = stream.next;
    if (stream.limit == no_row) changed_.push_back(id);
  }
  joined_.clear();
  touched_.clear();
  told_rows_.swap(filling_);
}

}  // namespace gradwire
