#include "sim/engine/fair_rates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/engine/water_level.hpp"

namespace gradwire {
namespace {

/// Numbers the rows that the route classes pass, in their order. @return their capacities.
std::vector<double> number_rows(RouteClasses& routes) {
  std::vector<std::uint32_t> number(routes.capacity.size(), 0);
  for (const RowUse& use : routes.uses) number[use.row] = 1;
  std::vector<double> numbered;
  for (std::size_t row = 0; row < number.size(); ++row) {
    if (std::exchange(number[row], static_cast<std::uint32_t>(numbered.size())) == 0) continue;
    numbered.push_back(routes.capacity[row]);
  }
  for (RowUse& use : routes.uses) use.row = number[use.row];
  for (RouteClasses::Turns& turns : routes.turns) {
    turns.others = number[turns.others];
    turns.copies = number[turns.copies];
  }
  return numbered;
}

}  // namespace

FairRates::FairRates(const FlowProblem& problem, double slack)
    : slack_(std::max(slack, full_within)),
      routes_(problem),
      first_(routes_.own.size(), no_stream),
      kept_(routes_.own.size(), no_stream) {
  for (const double capacity : number_rows(routes_)) {
    assert(std::isfinite(capacity) && capacity > 0);
    rows_.push_back({.capacity = capacity});
  }
  for (const RouteClasses::Turns& turns : routes_.turns) {
    rows_[turns.others].turns = rows_[turns.copies].turns =
        static_cast<std::uint32_t>(turns_.size());
    turns_.push_back({turns, LaggingShare(turns.capacity)});
  }
  of_filling_.resize(rows_.size());
  of_beside_.resize(rows_.size());
  limited_rate_.assign(rows_.size(), unlike);
  level_.assign(rows_.size(), Transport::no_cap);
  level_beside_ = level_;
  members_.resize(rows_.size());
  limited_.resize(rows_.size());
  for (std::size_t route = 0; route < first_.size(); ++route) {
    uses_most_ = std::max<std::size_t>(uses_most_, routes_.begin[route + 1] - routes_.begin[route]);
  }
  others_most_ = std::max<std::size_t>(uses_most_, 1) - 1;
  // Mostly one of each route class at most: they must not be moved as they come.
  streams_.reserve(first_.size());
  rate_.reserve(first_.size());
  limit_.reserve(first_.size());
  position_.reserve(first_.size() * uses_most_);
}

FairRates::StreamId FairRates::stream_of(std::uint32_t route, double cap) {
  StreamId* end = &first_[route];
  for (; *end != no_stream; end = &streams_[*end].next) {
    if (streams_[*end].cap == cap) return *end;
  }
  StreamId id = std::exchange(kept_[route], no_stream);
  if (id == no_stream && !free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else if (id == no_stream) {
    id = static_cast<StreamId>(streams_.size());
  }
  *end = id;
  if (id == streams_.size()) {
    streams_.emplace_back();
    rate_.emplace_back();
    limit_.push_back(no_row);
    position_.resize(position_.size() + uses_most_);
  }
  streams_[id] = {.route = route,
                  .uses_begin = routes_.begin[route],
                  .uses_end = routes_.begin[route + 1],
                  .cap = cap,
                  .bound = cap};
  rate_[id] = 0;
  enter_rows(id);
  return id;
}

void FairRates::drop(StreamId id) {
  const Stream& stream = streams_[id];
  leave_rows(id);
  StreamId* before = &first_[stream.route];
  while (*before != id) before = &streams_[*before].next;
  *before = stream.next;
  StreamId& kept = kept_[stream.route];
  if (kept != no_stream) free_.push_back(kept);
  kept = id;
}

void FairRates::enter_rows(StreamId id) {
  std::uint32_t number = 0;
  for (const RowUse& use : uses_of(streams_[id])) {
    position(id, number) = static_cast<std::uint32_t>(members_[use.row].size());
    members_[use.row].push_back({.stream = id, .use = number++});
  }
}

void FairRates::leave_rows(StreamId id) {
  std::uint32_t number = 0;
  for (const RowUse& use : uses_of(streams_[id])) {
    auto& members = members_[use.row];
    const std::uint32_t hole = position(id, number++);
    members[hole] = members.back();
    members.pop_back();
    if (hole < members.size()) position(members[hole].stream, members[hole].use) = hole;
    if (members.empty()) rows_[use.row].load = 0;
  }
  limit_by(id, no_row, 0);
}

void FairRates::limit_by(StreamId id, std::uint32_t row, double rate) {
  if (limit_[id] != row) {
    if (limit_[id] != no_row) {
      take_from(limited_[limit_[id]], id);
      note_rate(limit_[id], rate);
    }
    limit_[id] = row;
    changed_.push_back(id);
    if (row != no_row) put_into(limited_[row], id, row);
  }
  set_rate(id, rate);
}

void FairRates::take_from(LimitedList& list, StreamId id) {
  const std::uint32_t hole = streams_[id].limited_at;
  list.streams[hole] = list.streams.back();
  streams_[list.streams.back().stream].limited_at = hole;
  list.streams.pop_back();
  const auto last = list.others.end() - static_cast<std::ptrdiff_t>(others_most_);
  std::copy(last, list.others.end(),
            list.others.begin() + static_cast<std::ptrdiff_t>(hole * others_most_));
  list.others.erase(last, list.others.end());
}

void FairRates::put_into(LimitedList& list, StreamId id, std::uint32_t row) {
  Stream& stream = streams_[id];
  stream.limited_at = static_cast<std::uint32_t>(list.streams.size());
  Limited limited{.stream = id, .count = stream.count, .bound = stream.bound};
  list.others.resize(list.others.size() + others_most_);
  RowUse* others = list.others.data() + list.others.size() - others_most_;
  for (const RowUse& use : uses_of(stream)) {
    if (use.row == row) {
      limited.weight = use.weight;
    } else {
      others[limited.others++] = use;
    }
  }
  list.streams.push_back(limited);
}

void FairRates::set_rate(StreamId id, double rate) {
  const std::uint32_t row = limit_[id];
  if (row == no_row) {
    rate_[id] = rate;
    return;
  }
  double& all = limited_rate_[row];
  const auto& streams = limited_[row].streams;
  if (streams.size() == 1) all = rate;
  if (all == rate) return;
  if (all != unlike) {
    for (const Limited& one : streams) rate_[one.stream] = all;
    all = unlike;
  }
  rate_[id] = rate;
}

FairRates::StreamId FairRates::add(std::uint32_t column, double cap) {
  assert(cap > 0);
  const std::uint32_t route = routes_.of[column];
  const StreamId id = stream_of(route, cap);
  Stream& stream = streams_[id];
  const bool is_new = stream.count == 0;
  ++stream.count;
  note_limited(id);
  std::uint32_t number = 0;
  for (const RowUse& use : uses_of(stream)) {
    members_[use.row][position(id, number++)].weight += use.weight;
    const double weight = use.weight;
    rows_[use.row].weight += weight;
    rows_[use.row].load += weight * rate(id);
    check_load(use.row);
    ask_turns(use.row);
    note_turns(use.row);
  }
  bound(route);
  if (is_new && rate(id) == 0) enter(id);
  return id;
}

void FairRates::remove(StreamId id) {
  Stream& stream = streams_[id];
  assert(stream.count > 0);
  const std::uint32_t route = stream.route;
  --stream.count;
  note_limited(id);
  std::uint32_t number = 0;
  for (const RowUse& use : uses_of(stream)) {
    if (stream.count > 0) {
      members_[use.row][position(id, number++)].weight -= use.weight;
    }
    const double weight = use.weight;
    rows_[use.row].weight -= weight;
    rows_[use.row].load -= weight * rate(id);
    check_load(use.row);
    ask_turns(use.row);
    note_turns(use.row);
  }
  if (stream.count == 0) drop(id);
  bound(route);
}

void FairRates::bound(std::uint32_t route) {
  if (routes_.own[route] == Transport::no_cap) return;
  const StreamId first = first_[route];
  if (first == no_stream) return;
  if (streams_[first].next == no_stream) {
    bound(first, routes_.own[route] / streams_[first].count);
    return;
  }
  of_route_.clear();
  for (StreamId id = first_[route]; id != no_stream; id = streams_[id].next) {
    of_route_.push_back(id);
  }
  const double level = water_level(routes_.own[route], of_route_, [&](StreamId id) {
    return std::pair<double, double>(streams_[id].count, streams_[id].cap);
  });
  for (const StreamId id : of_route_) bound(id, level);
}

void FairRates::bound(StreamId id, double level) {
  Stream& stream = streams_[id];
  stream.bound = std::min(stream.cap, level);
  note_limited(id);
  const bool rises = limit_[id] == no_row && rate(id) < stream.bound;
  if (rises || rate(id) > stream.bound) enter(id);
}

void FairRates::enter(StreamId id) {
  const Stream& stream = streams_[id];
  assert(stream.bound < Transport::no_cap || !uses_of(stream).empty());
  // What the others have on its full rows.
  const double before = rate(id);
  double after = stream.bound;
  std::uint32_t limit = no_row;
  for (const RowUse& use : uses_of(stream)) {
    if (level_[use.row] >= after) continue;
    after = level_[use.row];
    limit = use.row;
  }
  if (after == Transport::no_cap) {
    limit = narrowest(stream);
    limit_by(id, limit, before);
    fill_anew(limit);
    return;
  }
  // A row that is filled anew has to meet it.
  for (const RowUse& use : uses_of(stream)) {
    if (rows_[use.row].filled == 1) limit = use.row;
  }
  limit_by(id, limit, after);
  const double faster = after - before;
  if (limit == no_row) changed_.push_back(id);
  for (const RowUse& use : uses_of(stream)) {
    rows_[use.row].load += use.weight * stream.count * faster;
    if (use.row != limit) note_rate(use.row, after);
    check_load(use.row);
    note_turns(use.row);
  }
}

bool FairRates::is_off(std::uint32_t row, double load) const {
  const double over = load - rows_[row].capacity;
  return over > full_within * rows_[row].capacity ||
         (is_full(row) && over < -slack_ * rows_[row].capacity);
}

void FairRates::fill_anew(std::uint32_t row) {
  if (std::exchange(rows_[row].filled, 1) == 1) return;
  of_filling_[row].was = std::exchange(level_[row], Transport::no_cap);
  level_beside_[row] = is_filling;
  filling_.push_back(row);
}

std::uint32_t FairRates::narrowest(const Stream& stream) const {
  const auto share = [&](const RowUse& use) {
    return rows_[use.row].capacity / rows_[use.row].weight;
  };
  return std::ranges::min_element(uses_of(stream), {}, share)->row;
}

}  // namespace gradwire
