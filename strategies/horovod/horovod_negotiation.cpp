#include "strategies/horovod/horovod_negotiation.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

namespace gradwire {

namespace {

using Indices = std::vector<std::size_t>;

/// FuseResponses over the requests that wait, in order; adds the groups to `groups`.
void fuse(std::span<const HorovodRequest> requests, const HorovodFusion& fusion,
          std::deque<std::size_t> waiting, std::vector<Indices>& groups) {
  const auto rounded = [&](std::size_t index) {
    const std::int64_t size = requests[index].size.count();
    return Bytes{(size + fusion.rounding - 1) / fusion.rounding * fusion.rounding};
  };
  while (!waiting.empty()) {
    const std::size_t head = waiting.front();
    waiting.pop_front();
    Indices group = {head};
    Indices skipped;
    Bytes size = rounded(head);
    Bytes skipped_size{0};
    while (!waiting.empty()) {
      const std::size_t next = waiting.front();
      const Bytes next_size = rounded(next);
      if (requests[next].kind == requests[head].kind && size + next_size <= fusion.threshold) {
        group.push_back(next);
        size += next_size;
      } else {
        skipped_size += next_size;
        if (size + skipped_size > fusion.threshold) break;
        skipped.push_back(next);
      }
      waiting.pop_front();
    }
    waiting.insert(waiting.begin(), skipped.begin(), skipped.end());
    groups.push_back(std::move(group));
  }
}

/// The dense requests of each group, by name, in the order in which the controller finds the
/// groups.
std::vector<Indices> groups_apart(std::span<const HorovodRequest> requests,
                                  const HorovodFusion& fusion) {
  Indices order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(fusion.cached),
              order.end());
  std::vector<Indices> groups;
  std::map<int, std::size_t> place;
  for (const std::size_t index : order) {
    const HorovodRequest& request = requests[index];
    if (request.kind != RequestKind::reduce) continue;
    const auto [at, is_new] = request.group == HorovodRequest::no_group
                                  ? std::pair{place.end(), true}
                                  : place.emplace(request.group, groups.size());
    if (is_new) {
      groups.push_back({index});
    } else {
      groups[at->second].push_back(index);
    }
  }
  for (Indices& group : groups) {
    std::ranges::sort(group, {}, [&](std::size_t index) { return requests[index].name; });
  }
  return groups;
}

}  // namespace

std::vector<Indices> fuse_responses(std::span<const HorovodRequest> requests,
                                    const HorovodFusion& fusion) {
  assert(fusion.rounding >= 1 && fusion.cached <= requests.size());
  std::vector<Indices> groups;
  std::deque<std::size_t> waiting;
  if (fusion.groups_apart) {
    for (const Indices& group : groups_apart(requests, fusion)) {
      fuse(requests, fusion, {group.begin(), group.end()}, groups);
    }
  }
  for (std::size_t index = 0; index < requests.size(); ++index) {
    const bool done = fusion.groups_apart && requests[index].kind == RequestKind::reduce;
    if (!done) waiting.push_back(index);
  }
  fuse(requests, fusion, std::move(waiting), groups);
  return groups;
}

bool ResponseCache::holds(RequestName name) const {
  return std::ranges::find(entries_, name, &Entry::name) != entries_.end();
}

std::int64_t ResponseCache::bit(RequestName name) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  assert(entry != entries_.end());
  return entry->bit;
}

void ResponseCache::use(RequestName name) {
  if (!on()) return;
  auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) {
    if (static_cast<std::int64_t>(entries_.size()) == capacity_) {
      entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
    }
    entries_.push_back({name, next_bit_++, 0});
    entry = entries_.end() - 1;
  }
  entry->used = clock_++;
}

int rounds_of(int count) {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < count; reached *= 2) ++rounds;
  return rounds;
}

Seconds barrier_time(const HorovodOptions& options, const JobView& job) {
  const int local = (job.world_size + job.machines - 1) / job.machines;
  return static_cast<double>(rounds_of(job.machines)) * job.message_latency +
         static_cast<double>(rounds_of(local)) * options.local_latency;
}

Negotiation::Negotiation(const HorovodOptions& options, const JobView& job)
    : cache_on_(options.cache_capacity > 0),
      world_size_(job.world_size),
      tree_(barrier_time(options, job)),
      message_(job.message_latency),
      request_time_(options.request_time) {}

Seconds Negotiation::time(int uncached) const {
  const Seconds bits = cache_on_ ? tree_ : Seconds{0};
  if (cache_on_ && uncached == 0) return bits;
  const double counted = static_cast<double>(world_size_) * (1.0 + static_cast<double>(uncached));
  return bits + 3.0 * tree_ + message_ + counted * request_time_;
}

}  // namespace gradwire
