#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/engine/engine_plan.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/fluid_network.hpp"
#include "sim/engine/incremental_transport.hpp"
#include "sim/engine/port_turns.hpp"
#include "sim/engine/simgrid_transport.hpp"
#include "sim/engine/step_network.hpp"

namespace gradwire {
namespace {

/// Above this many columns our own solver takes SimGrid's place: without slack they agree to 1e-9
/// (tests/engine), and ours pays for what an event changes, not for all that moves. The run of 64
/// GPUs took with SimGrid and with ours: kungfu_sync, 42 classes of flows, 154 and 48 ms; hsdp, 57,
/// 8.2 and 4.3; bytegrad, 20, 5.3 and 3.1; ddp, 14, 1.7 and 1.3; P3 on 16 machines with a server
/// each, 546, 22 and 1.9 s.
constexpr std::size_t simgrid_columns_max = 32;
/// Above this many it is given this slack where groups of gradients x columns, by which its work
/// grows, are more than `exact_work_max`: those of P3's 643 slices of ResNet-50 at 5000. By our own
/// measurement, three iterations on machines of 8 V100, with slack and without:
///   P3 of ResNet-50 on 64 machines, 643 groups, 8322 columns   5.7 and 27 s    0.00 % longer
///   MXNet's KVStore on 64, 161 groups, 8322                    0.6 and 1.2 s   0.00 %
///   BytePS on 128, 175 groups, 17682                           0.4 and 0.9 s   0.5 %
///   the same of VGG-16 over PCIe, 162 groups, 16546            1.1 and 1.7 s   2.5 %
/// tests/train/own_solver_test.cpp holds whole jobs with it to exact ones.
constexpr std::size_t exact_columns_max = 5000;
constexpr double exact_work_max = 3.2e6;
constexpr double large_slack = 0.01;

bool affords_exact_rates(std::size_t columns, const EngineOptions& options) {
  if (columns <= exact_columns_max) return true;
  return options.groups &&
         static_cast<double>(columns) * static_cast<double>(options.groups()) <= exact_work_max;
}

std::string name_of(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::fluid:
      return "fluid";
    case Fidelity::coupled:
      return "coupled";
    case Fidelity::step:
      return "step";
    case Fidelity::automatic:
      break;
  }
  return "auto";
}

/// @param why  of the fidelity; named for a solver that is not SimGrid's.
std::unique_ptr<Transport> make_transport(const FlowProblem& problem, const EngineOptions& options,
                                          std::string& why) {
  if (options.transport) return options.transport(problem);
  const std::size_t columns = problem.columns.size();
  const bool plain = problem.copies.empty();  // SimGrid knows no ports
  // What is uncontended is planned (fluid_network.cpp): SimGrid's 20 libraries, 35 ms to load,
  // would have nothing to solve.
  const bool shared = !options.one_at_a_time;
  if (plain && shared && !options.slack && columns <= simgrid_columns_max) {
    return make_simgrid_transport(problem);
  }
  const double slack =
      options.slack.value_or(affords_exact_rates(columns, options) ? 0 : large_slack);
  if (slack > 0) {
    why += fmt::format(
        "; {} route classes, our own solver, messages ended up to {:.2g} % of their time late{}",
        columns, 100 * slack, plain ? "" : ", beside copies more");
  }
  return make_incremental_transport(problem, slack);
}

class EventEngine final : public Engine, Transport::Listener {
 public:
  EventEngine(Reduced reduced, LinkShares shares, const EngineOptions& options) {
    NetworkStats& stats = reduced.stats;
    stats.links = shares.used();
    stats.fidelity = name_of(reduced.fidelity);
    if (options.ports_in_turn) mark_copies(reduced.quotient);
    transport_ = make_transport(reduced.quotient.problem, options, stats.why);
    stats.solver = transport_->solver();
    if (reduced.fidelity == Fidelity::step) {
      network_ = std::make_unique<StepNetwork>(queue_, *transport_, std::move(shares),
                                               std::move(reduced.quotient), std::move(stats));
    } else {
      network_ = std::make_unique<FluidNetwork>(queue_, *transport_, std::move(shares),
                                                std::move(reduced.quotient), std::move(stats));
    }
  }

  [[nodiscard]] Seconds now() const override { return queue_.now(); }

  void at(Seconds when, Action action, int priority) override {
    assert(priority > EventQueue::network_priority);
    queue_.post(when, priority, std::move(action));
  }

  Network& network() override { return *network_; }

  void run(const Network::OnDone& on_done) override {
    on_done_ = &on_done;
    if (!queue_.empty()) transport_->wake_at(queue_.next_time());
    if (network_->has_finished()) transport_->wake_at(now());
    transport_->run(*this);
    assert(queue_.empty() && network_->in_flight() == 0);
  }

 private:
  void on_instant(Seconds now, std::span<const Transport::Token> ended) override {
    queue_.advance_to(now);
    ended_.assign(ended.begin(), ended.end());
    std::sort(ended_.begin(), ended_.end());
    for (const Transport::Token token : ended_) network_->on_flow_end(token);
    while (true) {
      if (network_->has_finished() && !queue_.network_due()) {
        for (const TransferId id : network_->take_finished()) (*on_done_)(id, queue_.now());
      } else if (queue_.due()) {
        queue_.run_next();
      } else {
        break;
      }
    }
    if (!queue_.empty()) transport_->wake_at(queue_.next_time());
  }

  EventQueue queue_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<TransferNetwork> network_;
  const Network::OnDone* on_done_ = nullptr;
  std::vector<Transport::Token> ended_;  ///< in this instant, in order
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Cluster& cluster, std::span<const Pattern> patterns,
                                    const EngineOptions& options, const PatternRead& read) {
  return make_engine(cluster.links(), patterns, options, read);
}

std::unique_ptr<Engine> make_engine(ClusterLinks links, std::span<const Pattern> patterns,
                                    const EngineOptions& options, const PatternRead& read) {
  EnginePlan plan = options.memo != nullptr
                        ? options.memo->plan_engine(links, patterns, options, read)
                        : plan_engine(links, patterns, options, read);
  return std::make_unique<EventEngine>(std::move(plan.reduced), std::move(plan.shares), options);
}

}  // namespace gradwire
