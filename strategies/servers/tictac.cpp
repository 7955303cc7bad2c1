#include "strategies/servers/tictac.hpp"

#include <fmt/format.h>

#include "strategies/parts/job_places.hpp"
#include "strategies/servers/tictac_order.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t count_limit = 1 << 20;

}  // namespace

StrategyMaker TicTac::read(Knobs& knobs) {
  static const std::vector<std::string> orders = {"tic", "tac"};
  Options options;
  options.timing_aware = knobs.choice("order", "tic", orders,
                                      "the paper's two heuristics; in a chain of layers both are "
                                      "the order of the forward pass") == "tac";
  options.connections = static_cast<int>(
      knobs.count("connections", options.connections, 1, count_limit, "gRPC: one channel a pair"));
  options.sum_rate = knobs.cpu().sum_rate;
  knobs.read(
      "sum_rate", options.sum_rate,
      "one core adds floats, our measurement, profiles/libraries/cpu.yaml; that TensorFlow is "
      "as fast is assumed");
  return [options](const JobView& job) { return std::make_unique<TicTac>(options, job); };
}

TicTac::TicTac(const Options& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      layout_(job),
      gates_(job),
      order_(options.timing_aware ? tac_order(job) : tic_order(job)),
      flags_(job.tensors.size(), -1) {
  const ParameterServerSpec spec{.threads = static_cast<int>(options.server_threads),
                                 .passes = job.world_size + update_passes,
                                 .sum_rate = options.sum_rate,
                                 .loopback = options.loopback_bandwidth,
                                 .coded = job.coded};
  for (int server = 0; server < layout_.servers(); ++server) {
    servers_.emplace_back(poster_, spec.of(server, layout_.colocated(server)));
  }
}

Traits TicTac::traits() const {
  return {.dynamic = true, .forward_hooks = true, .own_optimizer = true, .exchanges_rows = true};
}

std::vector<Exchange> TicTac::exchanges() const {
  return visited_exchanges(*this);
}

void TicTac::visit_exchanges(const ExchangeVisit& visit) const {
  layout_.visit_ranks(visit, options_.connections);
}

ParameterServer& TicTac::server_of(TensorId tensor) {
  return servers_[static_cast<std::size_t>(tensor) % servers_.size()];
}

void TicTac::forward(int layer, WorkerId /*worker*/) {
  gates_.post(layer, poster_);
}

void TicTac::gradient(TensorId id, WorkerId /*worker*/) {
  poster_.post(launch_marker("ready"), [this, id] { push(id); });
}

void TicTac::begin(int /*iteration*/, WorkerId /*worker*/) {
  for (std::size_t id = 0; id < job_.tensors.size(); ++id) {
    flags_[id] = poster_.post(Flag{job_.tensors[id].name});
    gates_.wait_for(static_cast<TensorId>(id), flags_[id]);
  }
  pulls_wait_ = to_apply_ > 0;
  if (!pulls_wait_) pull_all();
}

void TicTac::pull_all() {
  to_apply_ = job_.tensors.size();
  // Most urgent first: a connection that is free takes the first it is given.
  std::vector<TensorId> tensors(job_.tensors.size());
  for (std::size_t id = 0; id < order_.size(); ++id) {
    tensors[static_cast<std::size_t>(order_[id])] = static_cast<TensorId>(id);
  }
  for (const TensorId id : tensors) {
    const TensorInfo& tensor = job_.tensor(id);
    server_of(id).pull({.size = job_.size_exchanged(tensor),
                        .tensors = {id},
                        .label = tensor.name,
                        .priority = order_[static_cast<std::size_t>(id)],
                        .then = [this, flag = flags_[static_cast<std::size_t>(id)]] {
                          poster_.post(Raise{flag});
                        }});
  }
}

void TicTac::push(TensorId id) {
  const TensorInfo& tensor = job_.tensor(id);
  server_of(id).push({.size = job_.size_exchanged(tensor),
                      .tensors = {id},
                      .label = tensor.name,
                      .then = [this] { applied(); },
                      .key = static_cast<std::uint64_t>(id)});
}

void TicTac::applied() {
  if (--to_apply_ > 0 || !pulls_wait_) return;
  pulls_wait_ = false;
  // The token for the next step reaches every worker.
  poster_.post(HostWork{HostWork::no_thread, job_.message_latency, "token"},
               [this] { pull_all(); });
}

std::vector<PlanGroup> TicTac::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const TensorInfo& tensor = job_.tensor(id);
    groups.push_back(
        {{id},
         tensor.elements,
         job_.size_exchanged(tensor),
         fmt::format("server {}, pull {}", static_cast<std::size_t>(id) % servers_.size(),
                     order_[static_cast<std::size_t>(id)])});
  }
  return groups;
}

}  // namespace gradwire
