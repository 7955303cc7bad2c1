#include "strategies/peers/kungfu_control.hpp"

#include <utility>

namespace gradwire {
namespace {

using Step = KungfuControl::Step;

constexpr double round_trip = 2;  ///< latencies
constexpr double ping = 3 * round_trip;
constexpr double connection = 2 * round_trip;  ///< TCP, then header and answer
constexpr Seconds retry_period{50e-3};         ///< ResizeClusterFromURL, peer.go
constexpr Bytes length_size{4};                ///< BytesConsensus, session.go: an int32
constexpr Bytes step_size{4};                  ///< elastic.py: an int32
constexpr Bytes peer_id_size{6};               ///< PeerID, plan/id.go: IPv4 address and port

Step wait(Seconds time) {
  return {.kind = Step::Kind::wait, .time = time};
}
Step all_reduce(Bytes size) {
  return {.kind = Step::Kind::all_reduce, .size = size};
}

/// @param workers  of the cluster that is agreed on; each machine has a runner as well.
void agree(std::vector<Step>& steps, std::int64_t workers, std::int64_t machines) {
  const Bytes cluster = (workers + machines) * peer_id_size;
  for (const Bytes size : {length_size, length_size, cluster, cluster}) {
    steps.push_back(all_reduce(size));
  }
}

}  // namespace

std::vector<Step> KungfuControl::check(const JobView& job) {
  std::vector<Step> steps = {{.kind = Step::Kind::step_over},
                             wait(2 * round_trip * job.message_latency)};
  agree(steps, job.world_size, job.machines);
  return steps;
}

std::vector<Step> KungfuControl::leave(const WorkerChange& change) {
  std::vector<Step> steps;
  for (int retry = 0; retry < change.retries; ++retry) {
    steps.push_back(wait(retry_period + round_trip * change.latency));
    agree(steps, change.workers, change.machines);
  }
  agree(steps, change.workers, change.machines);
  steps.push_back(wait((ping + connection + 1) * change.latency));
  return steps;
}

std::vector<Step> KungfuControl::join(const WorkerChange& change) {
  std::vector<Step> steps;
  if (change.joined > 0) {
    steps.push_back(wait(change.worker_start + 2 * connection * change.latency));
  }
  steps.push_back(all_reduce(Bytes{change.workers}));
  steps.push_back(all_reduce(step_size));
  steps.push_back({.kind = Step::Kind::broadcast});
  return steps;
}

void KungfuControl::run(std::vector<Step> steps, Poster::Then then) {
  steps_ = std::move(steps);
  then_ = std::move(then);
  at_ = 0;
  begin();
}

void KungfuControl::begin() {
  if (at_ == steps_.size()) {
    then_();
    return;
  }
  const Step& step = steps_[at_];
  const auto tensors = static_cast<TensorId>(job_.tensors.size());
  switch (step.kind) {
    case Step::Kind::step_over:
      poster_.post(launch_marker("step over"), [this] { next(); });
      return;
    case Step::Kind::all_reduce:
      if (job_.world_size > 1) {
        const TensorInfo bytes{"control",
                               job_.elements_in(step.size + Bytes{job_.element_size - 1}), 0};
        session_.start(0, bytes, KungfuSession::Kind::host_all_reduce, [this] { next(); });
        return;
      }
      break;  // KungFu's alone copies in its own memory
    case Step::Kind::broadcast:
      missing_ = job_.tensors.size();
      for (TensorId id = 0; id < tensors; ++id) {
        session_.start(id, job_.tensor(id), KungfuSession::Kind::broadcast, [this] {
          if (--missing_ == 0) next();
        });
      }
      return;
    case Step::Kind::wait:
      break;
  }
  poster_.post(
      HostWork{.thread = HostWork::no_thread, .time = step.time, .label = "change of workers"},
      [this] { next(); });
}

void KungfuControl::next() {
  ++at_;
  begin();
}

}  // namespace gradwire
