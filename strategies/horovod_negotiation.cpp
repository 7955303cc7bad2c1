#include "strategies/horovod_negotiation.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <numeric>

namespace gradwire {

std::vector<std::vector<std::size_t>> fuse_responses(std::span<const HorovodRequest> requests,
                                                     Bytes threshold, std::int64_t rounding) {
  assert(rounding >= 1);
  const auto rounded = [&](std::size_t index) {
    const std::int64_t size = requests[index].size.count();
    return Bytes{(size + rounding - 1) / rounding * rounding};
  };
  std::deque<std::size_t> waiting(requests.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> groups;
  while (!waiting.empty()) {
    const std::size_t head = waiting.front();
    waiting.pop_front();
    std::vector<std::size_t> group = {head};
    std::vector<std::size_t> skipped;
    Bytes size = rounded(head);
    Bytes skipped_size{0};
    while (!waiting.empty()) {
      const std::size_t next = waiting.front();
      const Bytes next_size = rounded(next);
      if (requests[next].kind == requests[head].kind && size + next_size <= threshold) {
        group.push_back(next);
        size += next_size;
      } else {
        skipped_size += next_size;
        if (size + skipped_size > threshold) break;
        skipped.push_back(next);
      }
      waiting.pop_front();
    }
    waiting.insert(waiting.begin(), skipped.begin(), skipped.end());
    groups.push_back(std::move(group));
  }
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

Negotiation::Negotiation(const HorovodOptions& options, const JobView& job)
    : cache_on_(options.cache_capacity > 0),
      world_size_(job.world_size),
      message_(job.message_latency),
      request_time_(options.request_time) {
  const int local = (job.world_size + job.machines - 1) / job.machines;
  tree_ = static_cast<double>(rounds_of(job.machines)) * job.message_latency +
          static_cast<double>(rounds_of(local)) * options.local_latency;
}

Seconds Negotiation::time(int uncached) const {
  const Seconds bits = cache_on_ ? tree_ : Seconds{0};
  if (cache_on_ && uncached == 0) return bits;
  const double counted = static_cast<double>(world_size_) * (1.0 + static_cast<double>(uncached));
  return bits + 3.0 * tree_ + message_ + counted * request_time_;
}

}  // namespace gradwire
