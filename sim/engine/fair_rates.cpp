#include "sim/engine/fair_rates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/engine/water_level.hpp"

namespace gradwire {

FairRates::FairRates(const FlowProblem& problem, double slack)
    : slack_(std::max(slack, full_within)),
      ways_(problem),
      rows_(problem.capacity.size()),
      level_(rows_.size(), Transport::no_cap),
      members_(rows_.size()),
      is_filling_(rows_.size(), 0),
      limited_(rows_.size()),
      met_of_(rows_.size()),
      present_(ways_.own.size()),
      kept_(ways_.own.size(), no_stream) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    assert(std::isfinite(problem.capacity[row]) && problem.capacity[row] > 0);
    rows_[row].capacity = problem.capacity[row];
  }
}

FairRates::StreamId FairRates::stream_of(std::uint32_t way, double cap) {
  for (const StreamId id : present_[way]) {
    if (cap_[id] == cap) return id;
  }
  StreamId id = std::exchange(kept_[way], no_stream);
  if (id == no_stream) {
    id = static_cast<StreamId>(streams_.size());
    if (free_.empty()) {
      streams_.emplace_back();
      cap_.emplace_back();
      position_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
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
    members_[use.row].push_back({id, number++, use.weight});
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
    if (kept_[way] != no_stream) free_.push_back(kept_[way]);
    kept_[way] = id;
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
    if (is_filling_[use.row] == 1) limit = use.row;
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
  if (std::exchange(is_filling_[row], 1) == 1) return;
  rows_[row].was = std::exchange(level_[row], Transport::no_cap);
  filling_.push_back(row);
}

std::uint32_t FairRates::narrowest(const Stream& stream) const {
  const auto share = [&](const RowUse& use) {
    return rows_[use.row].capacity / rows_[use.row].weight;
  };
  return std::ranges::min_element(uses_of(stream), {}, share)->row;
}

}  // namespace gradwire
