#include "strategies/peers/kungfu_pair_averaging.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/random.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/job_places.hpp"

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

KungfuPairAveraging::Worker::Worker(Poster& poster, Lane::Make ask, WorkerId id)
    : save(poster, messages_by(to_host(id))),
      answers(poster, std::move(ask)),
      load(poster, messages_by(to_gpu(id))) {}

int random_peer(std::uint64_t seed, int iteration, int worker, int peers) {
  const std::uint64_t word = absorb(absorb(absorb(0, seed), static_cast<std::uint64_t>(iteration)),
                                    static_cast<std::uint64_t>(worker));
  const int drawn = static_cast<int>(word % static_cast<std::uint64_t>(peers));
  return drawn == worker ? (drawn + 1) % peers : drawn;
}

KungfuPairAveraging::KungfuPairAveraging(const PairAveragingOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      first_ranks_(first_ranks(job)),
      host_(options.host, job) {
  if (options_.fuse) {
    parts_ = {group_of(job, job.gradient_order, "a random peer's model")};
  } else {
    for (const TensorId id : registration_order(job)) {
      parts_.push_back(group_of(job, {id}, "a random peer's variable"));
    }
  }
  for (WorkerId id = 0; id < job_.world_size; ++id) {
    workers_.emplace_back(
        poster_, [this, id](const LaneItem& item) { return answer(id, item); }, id);
    const int machine = machine_of(job_, id);
    const auto cores = static_cast<std::size_t>(std::max(1.0, host_.cores(machine)));
    workers_.back().served.resize(
        std::min(cores, static_cast<std::size_t>(host_.processes(machine))));
  }
  for (const int rank : first_ranks_) {
    const auto at = static_cast<std::size_t>(machine_of(job_, rank));
    if (place_of_.size() <= at) place_of_.resize(at + 1, -1);
    place_of_[at] = machines_++;
  }
}

StrategyMaker KungfuPairAveraging::read(Knobs& knobs) {
  PairAveragingOptions options;
  options.copy_rate = knobs.cpu().sum_rate;
  knobs.read("fuse", options.fuse,
             "PairAveragingOptimizer(fuse_requests=True); benchmark_kungfu.py has "
             "--fuse, off by default");
  options.seed =
      static_cast<std::uint64_t>(knobs.count("seed", 1, 0, std::numeric_limits<std::int64_t>::max(),
                                             "of the draws of peers; KungFu's are not seeded"));
  options.host = read_kungfu_host(knobs);
  return
      [options](const JobView& job) { return std::make_unique<KungfuPairAveraging>(options, job); };
}

int KungfuPairAveraging::peer_of(int iteration, WorkerId id) const {
  const std::vector<int>& all = job_.machine_of_all;
  if (all.empty()) return random_peer(options_.seed, iteration, id, job_.world_size);
  // Its number among all: that of the same worker of its machine.
  const int own = machine_of(job_, id);
  const auto local = std::count(job_.machine_of.begin(), job_.machine_of.begin() + id, own);
  int worker = -1;
  for (std::int64_t seen = -1; seen < local;) {
    if (all[static_cast<std::size_t>(++worker)] == own) ++seen;
  }
  const int peer = random_peer(options_.seed, iteration, worker, static_cast<int>(all.size()));
  if (all[static_cast<std::size_t>(peer)] == own || machines_ == 1) {
    std::vector<int> here;
    for (int rank = 0; rank < job_.world_size; ++rank) {
      if (on_one_machine(rank, id)) here.push_back(rank);
    }
    return here[static_cast<std::size_t>(peer) % here.size()];
  }
  // One of the other chosen machines answers for the peer's.
  const int place = peer % (machines_ - 1);
  const int own_place = place_of_[static_cast<std::size_t>(own)];
  return first_ranks_[static_cast<std::size_t>(place < own_place ? place : place + 1)];
}

bool KungfuPairAveraging::on_one_machine(WorkerId one, WorkerId other) const {
  return machine_of(job_, one) == machine_of(job_, other);
}

int KungfuPairAveraging::request(int machine, int asking) const {
  const int from = place_of_[static_cast<std::size_t>(machine)];
  return to_gpu(job_.world_size - 1) + 1 + asking * machines_ + from;
}

std::vector<Exchange> KungfuPairAveraging::exchanges() const {
  std::vector<Exchange> named = visited_exchanges(*this);
  const auto name = [&named](int exchange, std::string text) {
    named[static_cast<std::size_t>(exchange)].name = std::move(text);
  };
  for (WorkerId id = 0; id < job_.world_size; ++id) {
    const std::string worker = "worker " + std::to_string(id);
    name(to_host(id), "save of " + worker);
    name(to_gpu(id), "load of " + worker);
    for (const int asked : first_ranks_) {
      const int machine = machine_of(job_, asked);
      name(request(machine, id),
           "models from machine " + std::to_string(machine) + " to " + worker);
    }
  }
  return named;
}

void KungfuPairAveraging::visit_exchanges(const ExchangeVisit& visit) const {
  // A hundred thousand are visited: each is written over the one before it, and has no name.
  Exchange over{.name = {}, .phases = {{{}}}};
  const auto visit_one = [&](const Endpoint& from, const Endpoint& to) {
    over.phases.front().front() = {from, to};
    visit(over);
  };
  for (int rank = 0; rank < job_.world_size; ++rank) {
    visit_one(gpu_of(rank), host_of(rank));
    visit_one(host_of(rank), gpu_of(rank));
  }
  // A worker has one request at a time: from a machine to it there is one connection in use.
  for (int asking = 0; asking < job_.world_size; ++asking) {
    for (const int asked : first_ranks_) visit_one(host_of(asked), host_of(asking));
  }
}

void KungfuPairAveraging::finish(WorkerId id) {
  const Worker& self = workers_[static_cast<std::size_t>(id)];
  poster_.post(Gate{.until = {self.averaged, self.saved}, .worker = id});
}

void KungfuPairAveraging::begin(int iteration, WorkerId id) {
  Worker& self = workers_[static_cast<std::size_t>(id)];
  self.averaged = poster_.post(Flag{.label = "averaged"});
  self.saved = poster_.post(Flag{.label = "saved"});
  self.asked = peer_of(iteration, id);
  self.to_average = self.to_save = parts_.size();
  for (const PlanGroup& part : parts_) save(id, part);
  for (const PlanGroup& part : parts_) ask(id, part);
}

void KungfuPairAveraging::save(WorkerId id, const PlanGroup& part) {
  const auto stored = [this, id] {
    Worker& self = workers_[static_cast<std::size_t>(id)];
    if (--self.to_save == 0) poster_.post(Raise{.flag = self.saved});
  };
  workers_[static_cast<std::size_t>(id)].save.add(
      {.size = part.size, .label = "save model", .then = [this, id, size = part.size, stored] {
         poster_.post(
             HostWork{.thread = id, .time = size / options_.copy_rate, .label = "store model"},
             stored);
       }});
}

Operation KungfuPairAveraging::answer(WorkerId id, const LaneItem& item) {
  Worker& self = workers_[static_cast<std::size_t>(id)];
  const int machine = machine_of(job_, self.asked);
  if (!on_one_machine(self.asked, id)) {
    return Messages{.exchange = request(machine, id),
                    .size = item.size,
                    .tensors = {},
                    .label = "request model"};
  }
  const int processes = host_.processes(machine);
  const KungfuHost::Work work = host_.sockets(machine, 1, 2 * processes);
  std::vector<int>& served = workers_[static_cast<std::size_t>(self.asked)].served;
  const auto idlest = std::ranges::min_element(served);
  ++*idlest;
  self.core = static_cast<int>(idlest - served.begin());
  return HostWork{.thread = job_.world_size * (1 + self.core) + self.asked,  // behind the stores'
                  .time = Seconds{static_cast<double>(item.size.count()) * work.longer()},
                  .label = "model through a socket"};
}

void KungfuPairAveraging::ask(WorkerId id, const PlanGroup& part) {
  workers_[static_cast<std::size_t>(id)].answers.add(
      {.size = part.size, .then = [this, id, &part] {
         Worker& self = workers_[static_cast<std::size_t>(id)];
         if (on_one_machine(self.asked, id)) {
           auto& served = workers_[static_cast<std::size_t>(self.asked)].served;
           --served[static_cast<std::size_t>(self.core)];
         }
         self.load.add({.size = part.size, .label = "load model", .then = [this, id, &part] {
                          average(id, part);
                        }});
       }});
}

void KungfuPairAveraging::average(WorkerId id, const PlanGroup& part) {
  // Read both models, write one; fused, the own and the other's are copied once more.
  const std::int64_t passes = options_.fuse ? 3 + 2 + 2 : 3;
  poster_.post(DeviceWork{.traffic = passes * part.size,
                          .kernels = static_cast<int>(part.tensors.size()),
                          .label = "average",
                          .stream = DeviceStream::side,
                          .notify = true,
                          .worker = id},
               [this, id] {
                 Worker& self = workers_[static_cast<std::size_t>(id)];
                 if (--self.to_average == 0) poster_.post(Raise{.flag = self.averaged});
               });
}

std::vector<PlanGroup> KungfuPairAveraging::plan(int /*iteration*/) const {
  return parts_;
}

}  // namespace gradwire
