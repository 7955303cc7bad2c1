#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "sim/collectives/machine_fold.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/parallel.hpp"
#include "sim/core/refusal.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/fluid_network.hpp"
#include "sim/engine/group_quotient.hpp"
#include "sim/engine/incremental_transport.hpp"
#include "sim/engine/port_turns.hpp"
#include "sim/engine/simgrid_transport.hpp"
#include "sim/engine/step_network.hpp"

namespace gradwire {
namespace {

/// `automatic` takes `step` up to this many ranks and messages in one collective. A single
/// collective is the same in both; where some overlap, `fluid` is within some percent. 64 messages
/// hold a ring of 6 ranks (60), and keep 160 collectives an iteration at some 20 ms.
constexpr int automatic_step_ranks_max = 16;
constexpr double automatic_step_messages_max = 64;

/// Messages per second of `step`, where they do not contend: fast / (1 + live / half), with `live`
/// flows at a time. Source: tests/bench, step_messages, one core at 2.3 GHz (0.4 to 0.6 M/s at 256
/// and 512 flows), and 0.21 M/s at 1024 flows with SimGrid 3.32.
constexpr double step_messages_per_second = 0.5e6;
constexpr double step_live_half = 1000;

struct Work {
  int ranks = 0;
  double messages = 0;  ///< of the pattern that has the most
  double live = 0;      ///< flows of its widest phase
};

Work work_of(std::span<const Pattern> patterns) {
  Work most;
  for (const Pattern& pattern : patterns) {
    double messages = 0;
    double live = 0;
    for (const Phase& phase : pattern.phases) {
      const auto flows = static_cast<double>(phase.flow_count());
      messages += flows * phase.steps;
      live = std::max(live, flows);
    }
    most.ranks = std::max(most.ranks, pattern.ranks);
    most.live = std::max(most.live, live);
    most.messages = std::max(most.messages, messages);
  }
  return most;
}

/// `fluid` becomes `coupled` above this many flow classes: each costs SimGrid 5 to 500 us a
/// collective (tests/bench, collisions), and where collectives overlap the two differ by some
/// percent. Where one moves at a time they are equal, and few classes are enough: BERT-Large's 393
/// tensors at 4096 GPUs keep to their budget.
constexpr std::size_t fluid_classes_max = 2000;
constexpr std::size_t fluid_classes_max_alone = 64;

/// Above this many columns our own solver takes SimGrid's place: without slack they agree to 1e-9
/// (tests/engine), and ours pays for what an event changes, not for all that moves. The run of 64
/// GPUs took with SimGrid and with ours: kungfu_sync, 42 classes of flows, 154 and 48 ms; hsdp, 57,
/// 8.2 and 4.3; bytegrad, 20, 5.3 and 3.1; ddp, 14, 1.7 and 1.3; P3 on 16 machines with a server
/// each, 546, 22 and 1.9 s.
constexpr std::size_t simgrid_columns_max = 32;
/// Above this many it is given this slack, by our own measurement of P3, whose slices overlap most:
/// two iterations on 64 machines with a server each, 8322 columns, took 2.5 s in place of 15.5 s
/// with it, and came out 0.28 % longer; six, 13 s in place of 83 s on a slower machine, 0.20 %.
/// tests/train/own_solver_test.cpp holds whole jobs with it to exact ones.
constexpr std::size_t exact_columns_max = 5000;
constexpr double large_slack = 0.01;

struct Choice {
  Fidelity fidelity = Fidelity::fluid;
  std::string why;
  bool asked_for = false;
};

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

Choice choose(const Work& work, const EngineOptions& options) {
  if (options.fidelity == Fidelity::step) {
    if (work.messages > options.step_messages_max) {
      const double seconds =
          work.messages / step_messages_per_second * (1 + work.live / step_live_half);
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::fidelity,
          fmt::format("fidelity 'step' would simulate {:.0f} messages for one collective, about "
                      "{:.2g} s each time; at most {:.0f} are allowed; use 'fluid'",
                      work.messages, seconds, options.step_messages_max));
    }
    return {Fidelity::step, "asked for", true};
  }
  if (options.fidelity != Fidelity::automatic) return {options.fidelity, "asked for", true};
  if (work.messages == 0) return {Fidelity::step, "no message is sent", false};
  if (work.ranks > automatic_step_ranks_max) {
    return {Fidelity::fluid,
            fmt::format("{} ranks, more than {}", work.ranks, automatic_step_ranks_max), false};
  }
  if (work.messages > automatic_step_messages_max) {
    return {Fidelity::fluid,
            fmt::format("{:.0f} messages in one collective, more than {:.0f}", work.messages,
                        automatic_step_messages_max),
            false};
  }
  return {Fidelity::step,
          fmt::format("{} ranks and {:.0f} messages in one collective, few enough", work.ranks,
                      work.messages),
          false};
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
  const double slack = options.slack.value_or(columns > exact_columns_max ? large_slack : 0);
  if (slack > 0) {
    why += fmt::format(
        "; {} route classes, our own solver, messages ended up to {:.2g} % of their time late",
        columns, 100 * slack);
  }
  return make_incremental_transport(problem, slack);
}

/// What a network moves by.
struct Reduced {
  Quotient quotient;
  Fidelity fidelity = Fidelity::fluid;
  NetworkStats stats{};
};

/// Flows and links as they are for `step`, else those that behave alike merged.
Reduced reduce(ClusterLinks links, std::span<const Pattern> patterns, const Choice& choice,
               const EngineOptions& options, const PatternRead& read) {
  const FlowGraph graph = make_flow_graph(links, patterns, options.one_at_a_time, read);
  const bool step = choice.fidelity == Fidelity::step;
  const Partition partition = step ? no_merging(graph) : refine(graph);
  Reduced reduced{.quotient = make_quotient(graph, partition), .fidelity = choice.fidelity};
  reduced.stats.flows = graph.flow_count();
  reduced.stats.link_classes = partition.link_classes;
  reduced.stats.flow_classes = partition.flow_classes;
  reduced.stats.why = choice.why;
  const std::size_t classes_max =
      options.one_at_a_time ? fluid_classes_max_alone : fluid_classes_max;
  if (choice.asked_for) {
    if (choice.fidelity == Fidelity::coupled) reduced.quotient.couple();
  } else if (choice.fidelity == Fidelity::fluid && partition.flow_classes > classes_max) {
    reduced.stats.why =
        fmt::format("{} classes of flows, more than {}", partition.flow_classes, classes_max);
    if (reduced.quotient.couple()) reduced.fidelity = Fidelity::coupled;
  }
  return reduced;
}

/// Large patterns that move one at a time.
bool moves_as_groups(const Work& work, const Choice& choice, const EngineOptions& options) {
  return options.one_at_a_time && !choice.asked_for && choice.fidelity == Fidelity::fluid &&
         work.live > options.refined_flows_max;
}

/// Rings and trees, each as one body; nothing for others.
std::optional<Reduced> reduce_groups(ClusterLinks links, std::span<const Pattern> patterns,
                                     const Work& work, const EngineOptions& options) {
  std::optional<GroupQuotient> groups = make_group_quotient(links, patterns);
  if (!groups) return std::nullopt;
  Reduced reduced{.quotient = std::move(groups->quotient), .fidelity = Fidelity::coupled};
  for (const Pattern& pattern : patterns) {
    for (const Phase& phase : pattern.phases) reduced.stats.flows += phase.flow_count();
  }
  reduced.stats.link_classes = groups->link_classes;
  reduced.stats.flow_classes = groups->flow_classes;
  reduced.stats.why =
      fmt::format("{:.0f} flows at a time, more than {:.0f}", work.live, options.refined_flows_max);
  return reduced;
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
  const auto count = static_cast<PatternId>(patterns.size());
  const auto all_read = [&] {
    for (PatternId id = 0; read && id < count; ++id) read(id);
  };
  const Work work = work_of(patterns);
  const Choice choice = choose(work, options);
  if (moves_as_groups(work, choice, options)) {
    std::optional<Reduced> groups;
    std::optional<LinkShares> shares;
    in_parts(2, 2, [&](std::size_t begin, std::size_t end) {  // neither needs the other
      if (begin == 0) groups = reduce_groups(links, patterns, work, options);
      if (end == 2) shares.emplace(patterns);
    });
    if (groups) {
      all_read();
      return std::make_unique<EventEngine>(std::move(*groups), std::move(*shares), options);
    }
  }
  if (std::ranges::any_of(patterns, &Pattern::is_folded)) {
    std::vector<Pattern> whole(patterns.begin(), patterns.end());
    for (Pattern& pattern : whole) {
      if (pattern.is_folded()) pattern = unfolded(pattern);
    }
    all_read();
    return make_engine(links, whole, options,
                       [&](PatternId id) { whole[static_cast<std::size_t>(id)] = {}; });
  }
  LinkShares shares(patterns);
  Reduced reduced = reduce(links, patterns, choice, options, read);
  return std::make_unique<EventEngine>(std::move(reduced), std::move(shares), options);
}

}  // namespace gradwire
