#include "strategies/horovod_queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gradwire {
namespace {

/// The stream waits for the gradients (CHANGELOG 0.23.0, pull request 2963).
constexpr Release stream_waits_from{0, 23};
/// All-gathers are remembered too (CHANGELOG 0.22.0, pull request 2872).
constexpr Release gathers_cached_from{0, 22};

}  // namespace

HorovodQueue::HorovodQueue(const HorovodOptions& options, const JobView& job)
    : options_(options),
      ways_(options, job),
      negotiation_(options, job),
      cache_(options.cache_capacity),
      streams_(static_cast<std::size_t>(options.num_nccl_streams)) {}

void HorovodQueue::submit(Seconds now, std::vector<HorovodRequest> requests, Poster& poster) {
  OperationId marker = -1;
  for (auto& request : requests) {
    if (!request.ready && marker < 0) {
      marker = poster.post(launch_marker("ready"));
      open_markers_.push_back(marker);
    }
    const OperationId waits_for = request.ready ? -1 : marker;
    pending_.push_back({std::move(request), waits_for});
  }
  if (state_ == State::idle) plan_cycle(now, poster);
}

Seconds HorovodQueue::next_cycle(Seconds now) const {
  const Seconds first = std::max(cycle_start_ + options_.cycle_time, free_);
  if (now <= first) return first;
  const Seconds period = std::max(options_.cycle_time, negotiation_.time(0));
  if (period <= Seconds{0}) return now;
  return std::max(now, first + std::ceil((now - first) / period) * period);
}

void HorovodQueue::plan_cycle(Seconds now, Poster& poster) {
  const Seconds start = next_cycle(now);
  if (start <= now) {
    begin_cycle(now, poster);
    return;
  }
  state_ = State::sleeping;
  awaited_ = poster.post(
      HostWork{.thread = HostWork::no_thread, .time = start - now, .label = "next cycle"});
}

bool HorovodQueue::cached(const HorovodRequest& request) const {
  const bool can = request.kind == RequestKind::reduce || options_.version >= gathers_cached_from;
  return can && cache_.holds(request.name);
}

int HorovodQueue::uncached(const std::vector<Pending>& batch) const {
  return static_cast<int>(std::ranges::count_if(
      batch, [&](const Pending& pending) { return !cached(pending.request); }));
}

void HorovodQueue::begin_cycle(Seconds now, Poster& poster) {
  state_ = State::negotiating;
  cycle_start_ = now;
  batch_ = std::exchange(pending_, {});
  awaited_ = poster.post(HostWork{
      .thread = thread, .time = negotiation_.time(uncached(batch_)), .label = "negotiate"});
}

void HorovodQueue::respond() {
  // Cached responses come first in the list, by their bits; the others as they were enqueued.
  std::ranges::stable_sort(batch_, [&](const Pending& a, const Pending& b) {
    const bool first = cached(a.request);
    const bool second = cached(b.request);
    if (first && second) return cache_.bit(a.request.name) < cache_.bit(b.request.name);
    return first && !second;
  });
  std::vector<HorovodRequest> requests;
  requests.reserve(batch_.size());
  for (const auto& pending : batch_) requests.push_back(pending.request);
  for (const auto& group : fuse_responses(requests, options_.fusion_threshold, ways_.rounding())) {
    Response response;
    for (const std::size_t index : group) {
      const OperationId marker = batch_[index].marker;
      const bool open = std::ranges::find(open_markers_, marker) != open_markers_.end();
      if (open && std::ranges::find(response.markers, marker) == response.markers.end()) {
        response.markers.push_back(marker);
      }
      cache_.use(requests[index].name);
      response.requests.push_back(requests[index]);
    }
    responses_.push_back(std::move(response));
  }
  batch_.clear();
}

void HorovodQueue::execute(Seconds now, Poster& poster) {
  while (!responses_.empty()) {
    if (options_.version < stream_waits_from && !responses_.front().markers.empty()) return;
    auto& stream = streams_[next_stream_];
    if (ways_.blocks() && !stream.empty()) return;
    Response response = std::move(responses_.front());
    responses_.pop_front();
    response.stages = ways_.stages(response.requests, static_cast<int>(next_stream_) + 1);
    stream.push_back(std::move(response));
    feed(stream, poster);
    // A blocking response is waited for, so one stream does.
    if (!ways_.blocks()) next_stream_ = (next_stream_ + 1) % streams_.size();
  }
  if (ways_.blocks() && !streams_[next_stream_].empty()) return;
  state_ = State::idle;
  free_ = now;
  if (!pending_.empty()) plan_cycle(now, poster);
}

void HorovodQueue::feed(std::deque<Response>& stream, Poster& poster) {
  if (stream.empty()) return;
  Response& head = stream.front();
  if (head.running >= 0 || !head.markers.empty()) return;
  head.running = poster.post(head.stages[head.stage]);
}

void HorovodQueue::forget(OperationId marker) {
  if (std::erase(open_markers_, marker) == 0) return;
  for (auto& response : responses_) std::erase(response.markers, marker);
  for (auto& stream : streams_) {
    for (auto& response : stream) std::erase(response.markers, marker);
  }
}

std::vector<HorovodRequest> HorovodQueue::advance(OperationId operation) {
  for (auto& stream : streams_) {
    if (stream.empty() || stream.front().running != operation) continue;
    Response& head = stream.front();
    head.running = -1;
    if (++head.stage < head.stages.size()) return {};
    auto requests = std::move(head.requests);
    stream.pop_front();
    return requests;
  }
  return {};
}

std::vector<HorovodRequest> HorovodQueue::on_done(Seconds now, OperationId operation,
                                                  Poster& poster) {
  std::vector<HorovodRequest> arrived;
  if (operation == awaited_) {
    awaited_ = -1;
    if (state_ == State::sleeping) {
      begin_cycle(now, poster);
      return arrived;
    }
    respond();
    state_ = State::executing;
  } else {
    forget(operation);
    arrived = advance(operation);
    for (auto& stream : streams_) feed(stream, poster);
  }
  if (state_ == State::executing) execute(now, poster);
  return arrived;
}

}  // namespace gradwire
