#include "strategies/horovod/horovod_queue.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "strategies/horovod/horovod_activities.hpp"

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
      streams_(static_cast<std::size_t>(options.num_nccl_streams) + 1) {}

void HorovodQueue::begin(int iteration) {
  // Far from one another in turn, so that a few iterations have about the mean.
  constexpr std::array<int, parts> order{1, 3, 0, 2};
  part_ = (0.5 + order[static_cast<std::size_t>(iteration % parts)]) / parts;
}

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

Seconds HorovodQueue::next_cycle(Seconds now) {
  const Seconds first = std::max(cycle_start_ + options_.cycle_time, free_);
  const auto part = std::exchange(part_, std::nullopt);
  if (now <= first) return first;
  const Seconds period = std::max(options_.cycle_time, negotiation_.time(0));
  if (part) return now + *part * period;
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

void HorovodQueue::record(bool on_gpu) {
  phases_.on();
  on_gpu_ = on_gpu;
}

void HorovodQueue::respond(Seconds now) {
  for (const auto& [request, marker] : batch_) {
    phases_.add(request.tensors, negotiation_of(request.kind), cycle_start_, now);
  }
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
  const HorovodFusion fusion{.threshold = ways_.threshold(),
                             .rounding = ways_.rounding(),
                             .groups_apart = options_.disable_group_fusion,
                             .cached = batch_.size() - static_cast<std::size_t>(uncached(batch_))};
  for (const auto& group : fuse_responses(requests, fusion)) {
    Response response;
    for (const std::size_t index : group) {
      const OperationId marker = batch_[index].marker;
      const bool open = std::ranges::find(open_markers_, marker) != open_markers_.end();
      if (open && std::ranges::find(response.markers, marker) == response.markers.end()) {
        response.markers.push_back(marker);
      }
      cache_.use(requests[index].name);
      response.marker_of.push_back(open ? marker : -1);
      response.ready_at.push_back(now);
      response.requests.push_back(requests[index]);
    }
    responses_.push_back(std::move(response));
  }
  batch_.clear();
}

void HorovodQueue::execute(Seconds now, Poster& poster) {
  while (!responses_.empty()) {
    if (blocked()) return;
    if (!responses_.front().turn) responses_.front().turn = now;
    if (options_.version < stream_waits_from && !responses_.front().markers.empty()) return;
    Response response = std::move(responses_.front());
    responses_.pop_front();
    const RequestKind kind = response.requests.front().kind;
    response.blocks = ways_.blocks(kind);
    const std::size_t nccl_streams = streams_.size() - 1;
    const bool on_host = response.blocks && kind == RequestKind::gather;
    auto& stream = streams_[on_host ? nccl_streams : next_stream_];
    response.stages = ways_.stages(response.requests, static_cast<int>(next_stream_) + 1);
    // A blocking response is waited for, so one stream does.
    if (!response.blocks) next_stream_ = (next_stream_ + 1) % nccl_streams;
    stream.push_back(std::move(response));
    feed(now, stream, poster);
  }
  if (blocked()) return;
  state_ = State::idle;
  free_ = now;
  if (!pending_.empty()) plan_cycle(now, poster);
}

bool HorovodQueue::blocked() const {
  return std::ranges::any_of(
      streams_, [](const auto& stream) { return !stream.empty() && stream.back().blocks; });
}

void HorovodQueue::feed(Seconds now, std::deque<Response>& stream, Poster& poster) {
  if (stream.empty()) return;
  Response& head = stream.front();
  if (head.running >= 0 || !head.markers.empty()) return;
  if (head.stage == 0) note_waits(now, head);
  head.stage_start = now;
  head.running = poster.post(Operation(head.stages[head.stage]));
}

void HorovodQueue::note_waits(Seconds now, const Response& response) {
  const Seconds turn = response.turn.value_or(now);
  const Seconds all = std::max(turn, *std::ranges::max_element(response.ready_at));
  for (std::size_t i = 0; i < response.requests.size(); ++i) {
    const auto& tensors = response.requests[i].tensors;
    const Seconds own = std::max(turn, response.ready_at[i]);
    phases_.add(tensors, "WAIT_FOR_DATA", turn, own);
    phases_.add(tensors, "WAIT_FOR_OTHER_TENSOR_DATA", own, all);
    phases_.add(tensors, "QUEUE", all, now);
  }
}

void HorovodQueue::forget(Seconds now, OperationId marker, Response& response) {
  if (std::erase(response.markers, marker) == 0) return;
  for (std::size_t i = 0; i < response.marker_of.size(); ++i) {
    if (response.marker_of[i] == marker) response.ready_at[i] = now;
  }
}

void HorovodQueue::forget(Seconds now, OperationId marker) {
  if (std::erase(open_markers_, marker) == 0) return;
  for (auto& response : responses_) forget(now, marker, response);
  for (auto& stream : streams_) {
    for (auto& response : stream) forget(now, marker, response);
  }
}

std::vector<HorovodRequest> HorovodQueue::advance(Seconds now, OperationId operation) {
  for (auto& stream : streams_) {
    if (stream.empty() || stream.front().running != operation) continue;
    Response& head = stream.front();
    head.running = -1;
    const std::string activity = activity_of(head.stages[head.stage], on_gpu_);
    for (const auto& request : head.requests) {
      if (!activity.empty()) phases_.add(request.tensors, activity, head.stage_start, now);
    }
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
    respond(now);
    state_ = State::executing;
  } else {
    forget(now, operation);
    arrived = advance(now, operation);
    for (auto& stream : streams_) feed(now, stream, poster);
  }
  if (state_ == State::executing) execute(now, poster);
  return arrived;
}

}  // namespace gradwire
