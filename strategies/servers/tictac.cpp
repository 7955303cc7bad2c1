#include "strategies/servers/tictac.hpp"

#include <fmt/format.h>

#include <utility>

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
  options.server_threads = knobs.count("server_threads", options.server_threads, 1, count_limit,
                                       "assumed: threads of a server that sum and apply");
  options.sum_rate =
      knobs.rate("sum_rate", options.sum_rate,
                 "one core adds floats, our measurement, sim/core/host_cpu.hpp; that TensorFlow is "
                 "as fast is assumed");
  options.loopback_bandwidth = knobs.rate("loopback_bandwidth", options.loopback_bandwidth,
                                          "assumed: rank and server on one machine");
  return [options](const JobView& job) { return std::make_unique<TicTac>(options, job); };
}

TicTac::TicTac(const Options& options, const JobView& job)
    : options_(options),
      job_(job),
      layout_(job),
      gates_(job),
      order_(options.timing_aware ? tac_order(job) : tic_order(job)),
      flags_(job.tensors.size(), -1) {
  const auto threads = static_cast<int>(options_.server_threads);
  for (int server = 0; server < layout_.servers(); ++server) {
    const bool colocated = layout_.colocated(server);
    servers_.emplace_back(
        poster_,
        ParameterServerSpec{.push_exchange = 2 * server,
                            .pull_exchange = 2 * server + 1,
                            .first_thread = server * (threads + 1),
                            .threads = threads,
                            .together = Bytes{0},
                            .passes = job_.world_size + update_passes,
                            .sum_rate = options_.sum_rate,
                            .loopback = colocated ? options_.loopback_bandwidth : BytesPerSecond{0},
                            .request = Seconds{},
                            .coded = job_.coded});
  }
}

Traits TicTac::traits() const {
  return {.dynamic = true, .forward_hooks = true, .own_optimizer = true};
}

std::vector<Exchange> TicTac::exchanges() const {
  std::vector<Exchange> exchanges;
  for (int server = 0; server < layout_.servers(); ++server) {
    exchanges.push_back(layout_.push_by_rank(server, options_.connections));
    exchanges.push_back(layout_.pull_by_rank(server, options_.connections));
  }
  return exchanges;
}

ParameterServer& TicTac::server_of(TensorId tensor) {
  return servers_[static_cast<std::size_t>(tensor) % servers_.size()];
}

Operations TicTac::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* done = std::get_if<OperationDone>(&event)) {
    poster_.done(done->operation);
  } else if (std::holds_alternative<IterationStart>(event)) {
    start_iteration();
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(hook->micro_batch)) {
      poster_.post(launch_marker("ready"), [this, tensor = hook->tensor] { push(tensor); });
    }
  } else if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    if (forward->micro_batch == 0) gates_.post(forward->layer, poster_);
  }
  return poster_.take();
}

void TicTac::start_iteration() {
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
    server_of(id).pull({.size = job_.size_of(tensor),
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
  server_of(id).push({.size = job_.size_of(tensor),
                      .tensors = {id},
                      .label = tensor.name,
                      .then =
                          [this] {
                            if (--to_apply_ > 0 || !pulls_wait_) return;
                            pulls_wait_ = false;
                            // The token for the next step reaches every worker.
                            poster_.post(
                                HostWork{HostWork::no_thread, job_.message_latency, "token"},
                                [this] { pull_all(); });
                          }},
                     static_cast<std::uint64_t>(id));
}

std::vector<PlanGroup> TicTac::plan(int /*iteration*/) const {
  std::vector<PlanGroup> groups;
  for (const TensorId id : job_.gradient_order) {
    const TensorInfo& tensor = job_.tensor(id);
    groups.push_back(
        {{id},
         tensor.elements,
         job_.size_of(tensor),
         fmt::format("server {}, pull {}", static_cast<std::size_t>(id) % servers_.size(),
                     order_[static_cast<std::size_t>(id)])});
  }
  return groups;
}

}  // namespace gradwire
