#include "strategies/kungfu_pair_averaging.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/random.hpp"
#include "strategies/job_places.hpp"

namespace gradwire {
namespace {

/// Exchanges of a worker: GPU to host, host to GPU; then requests.
constexpr int to_host(WorkerId worker) {
  return 2 * worker;
}
constexpr int to_gpu(WorkerId worker) {
  return 2 * worker + 1;
}

}  // namespace

int random_peer(std::uint64_t seed, int iteration, int worker, int peers) {
  const std::uint64_t word = absorb(absorb(absorb(0, seed), static_cast<std::uint64_t>(iteration)),
                                    static_cast<std::uint64_t>(worker));
  const int drawn = static_cast<int>(word % static_cast<std::uint64_t>(peers));
  return drawn == worker ? (drawn + 1) % peers : drawn;
}

KungfuPairAveraging::KungfuPairAveraging(const PairAveragingOptions& options, JobView job)
    : options_(options), job_(std::move(job)) {
  model_.tensors = job_.gradient_order;
  for (const auto& tensor : job_.tensors) model_.elements += tensor.elements;
  model_.size = job_.size_of(model_.elements);
  model_.note = "a random peer's model";
  workers_.resize(static_cast<std::size_t>(job_.world_size));
  for (const int rank : first_ranks(job_)) {
    const auto at = static_cast<std::size_t>(machine_of(job_, rank));
    if (place_of_.size() <= at) place_of_.resize(at + 1, -1);
    place_of_[at] = machines_++;
  }
  if (job_.machine_of_all.empty()) return;
  const int machine = machine_of(job_, 0);
  crowding_ = static_cast<double>(std::ranges::count(job_.machine_of_all, machine)) /
              static_cast<double>(std::ranges::count(job_.machine_of, machine));
}

StrategyMaker KungfuPairAveraging::read(Knobs& knobs) {
  PairAveragingOptions options;
  options.fuse = knobs.yes("fuse", options.fuse,
                           "PairAveragingOptimizer(fuse_requests=True); benchmark_kungfu.py has "
                           "--fuse, off by default");
  options.seed =
      static_cast<std::uint64_t>(knobs.count("seed", 1, 0, std::numeric_limits<std::int64_t>::max(),
                                             "of the draws of peers; KungFu's are not seeded"));
  options.copy_rate =
      knobs.rate("copy_rate", options.copy_rate,
                 "the local store's copy of the model: the rate of a core that adds floats, "
                 "sim/core/host_cpu.hpp; that a copy is as fast is assumed");
  options.socket_rate = knobs.rate("socket_rate", options.socket_rate, machine_socket_source);
  return
      [options](const JobView& job) { return std::make_unique<KungfuPairAveraging>(options, job); };
}

int KungfuPairAveraging::peer_machine(int iteration, WorkerId id) const {
  const std::vector<int>& all = job_.machine_of_all;
  if (all.empty()) {
    return machine_of(job_, random_peer(options_.seed, iteration, id, job_.world_size));
  }
  // Its number among all: that of the same worker of its machine.
  const int own = machine_of(job_, id);
  const auto local = std::count(job_.machine_of.begin(), job_.machine_of.begin() + id, own);
  int worker = -1;
  for (std::int64_t seen = -1; seen < local;) {
    if (all[static_cast<std::size_t>(++worker)] == own) ++seen;
  }
  const int peer = random_peer(options_.seed, iteration, worker, static_cast<int>(all.size()));
  if (all[static_cast<std::size_t>(peer)] == own || machines_ == 1) return own;
  // One of the other chosen machines answers for the peer's.
  const int place = peer % (machines_ - 1);
  const int own_place = place_of_[static_cast<std::size_t>(own)];
  const auto at = std::ranges::find(place_of_, place < own_place ? place : place + 1);
  return static_cast<int>(at - place_of_.begin());
}

int KungfuPairAveraging::request(int machine, int asking) const {
  const int from = place_of_[static_cast<std::size_t>(machine)];
  return to_gpu(job_.world_size - 1) + 1 + asking * machines_ + from;
}

std::vector<Exchange> KungfuPairAveraging::exchanges() const {
  std::vector<Exchange> exchanges;
  for (int rank = 0; rank < job_.world_size; ++rank) {
    const Endpoint gpu = gpu_of(rank);
    const Endpoint host = host_of(rank);
    const std::string name = " of worker " + std::to_string(rank);
    exchanges.push_back({.name = "save" + name, .phases = {{{gpu, host}}}});
    exchanges.push_back({.name = "load" + name, .phases = {{{host, gpu}}}});
  }
  // A worker has one request at a time: from a machine to it there is one connection in use.
  for (int asking = 0; asking < job_.world_size; ++asking) {
    for (const int asked : first_ranks(job_)) {
      exchanges.push_back({.name = "models from machine " +
                                   std::to_string(machine_of(job_, asked)) + " to worker " +
                                   std::to_string(asking),
                           .phases = {{{host_of(asked), host_of(asking)}}}});
    }
  }
  return exchanges;
}

Operations KungfuPairAveraging::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration, start->worker);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) {
      const Worker& self = workers_[static_cast<std::size_t>(done->worker)];
      writer_.post(Gate{.until = {self.averaged, self.saved}, .worker = done->worker});
    }
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    advance(ended->operation);
  }
  return writer_.take();
}

void KungfuPairAveraging::start_iteration(int iteration, WorkerId id) {
  Worker& self = workers_[static_cast<std::size_t>(id)];
  self.averaged = writer_.post(Flag{.label = "averaged"});
  self.saved = writer_.post(Flag{.label = "saved"});
  post(
      Stage::on_host, id,
      Messages{.exchange = to_host(id), .size = model_.size, .tensors = {}, .label = "save model"});
  const int peer = peer_machine(iteration, id);
  if (peer == machine_of(job_, id)) {
    post(Stage::received, id,
         HostWork{.thread = place_of_[static_cast<std::size_t>(peer)],
                  .time = crowding_ * (model_.size / options_.socket_rate),
                  .label = "model through a socket"});
    return;
  }
  post(Stage::received, id,
       Messages{.exchange = request(peer, id),
                .size = model_.size,
                .tensors = {},
                .label = "request model"});
}

void KungfuPairAveraging::post(Stage stage, WorkerId worker, Operation operation) {
  pending_[writer_.post(std::move(operation))] = {stage, worker};
}

void KungfuPairAveraging::advance(OperationId operation) {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  const WorkerId id = pending.worker;
  const Worker& self = workers_[static_cast<std::size_t>(id)];
  // Read both models, write one; fused, the own and the other's are copied once more.
  const std::int64_t passes = options_.fuse ? 3 + 2 + 2 : 3;
  switch (pending.stage) {
    case Stage::received:
      post(Stage::on_gpu, id,
           Messages{
               .exchange = to_gpu(id), .size = model_.size, .tensors = {}, .label = "load model"});
      break;
    case Stage::on_gpu:
      post(Stage::averaged, id,
           DeviceWork{.traffic = passes * model_.size,
                      .kernels = static_cast<int>(job_.tensors.size()),
                      .label = "average",
                      .stream = DeviceStream::side,
                      .notify = true,
                      .worker = id});
      break;
    case Stage::averaged:
      writer_.post(Raise{.flag = self.averaged});
      break;
    case Stage::on_host:
      // A thread of the worker's own; the sockets have one a machine.
      post(Stage::saved, id,
           HostWork{.thread = job_.world_size + id,
                    .time = model_.size / options_.copy_rate,
                    .label = "store model"});
      break;
    case Stage::saved:
      writer_.post(Raise{.flag = self.saved});
      break;
  }
}

std::vector<PlanGroup> KungfuPairAveraging::plan(int /*iteration*/) const {
  return {model_};
}

}  // namespace gradwire
