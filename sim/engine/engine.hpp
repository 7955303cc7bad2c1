#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "sim/core/cluster_link.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"
#include "sim/engine/action.hpp"
#include "sim/engine/network.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {

class EngineMemo;

/// Owns the clock, the event queue and the network; decides nothing.
///
/// Events run in the order (time, priority, sequence of posting). Completions of one instant are
/// delivered in order of transfer id, before the events of that instant. Same input, same output,
/// bit for bit. SimGrid keeps global state: at most one engine a process runs at a time.
class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual Seconds now() const = 0;
  /// Runs `action` at `when` (not before now). Lower priority values run first; the least value of
  /// int is the network's own.
  virtual void at(Seconds when, Action action, int priority = 0) = 0;
  virtual Network& network() = 0;
  /// Runs until no event is left and nothing is in flight.
  /// @throws TooManyFlows (transport.hpp); whatever an action throws. What was in flight is dropped
  ///         then, and the engine is good for nothing but to be destroyed; another one can be made.
  virtual void run(const Network::OnDone& on_done) = 0;
};

struct EngineOptions {
  Fidelity fidelity = Fidelity::automatic;
  /// `step` is refused above this many messages in one collective.
  double step_messages_max = 5e6;
  /// A collective alone takes what its library says (CollectiveLibrary::sets_times()), not what its
  /// messages take.
  bool library_sets_times = true;
  /// `fluid` and `coupled` are refused where they are known to differ from `step`, which is taken
  /// by itself there.
  bool refuses_inexact = false;
  /// At most one transfer is in flight at any time: what different phases share does not matter,
  /// and each is reduced by itself; SimGrid is not asked.
  bool one_at_a_time = false;
  /// Above this many flows at a time uncontended rings and trees are not refined
  /// (group_quotient.hpp): on hundreds of machines they are coupled all the same, since they have
  /// more classes than `fluid` is taken for.
  double refined_flows_max = 1e4;
  /// GPUs' copies and NICs' messages share PCIe links by device (port_turns.hpp), not by flow.
  bool ports_in_turn = true;
  /// Another transport in the place of SimGrid and of our own: the tests' oracle.
  std::function<std::unique_ptr<Transport>(const FlowProblem&)> transport{};
  /// Use our own solver with this slack (incremental_transport.hpp), however small the problem is;
  /// nothing: only for thousands of columns, and with slack where exact rates take too long.
  std::optional<double> slack{};
  /// How many groups of gradients move in an iteration (Strategy::plan); is asked for where
  /// thousands of columns may be too many for exact rates. Null: any number.
  std::function<std::size_t()> groups{};
  /// Where the plan (engine_plan.hpp) is looked for, and kept; null: nowhere.
  EngineMemo* memo = nullptr;
};

/// Is told a pattern that is not read any more, so that its memory can be used again.
using PatternRead = std::function<void(PatternId)>;

/// An engine over all `patterns` that can be in flight in this run; PatternId is the index.
/// @param read  is called once for each pattern, in order; after the last one none is looked at.
/// @throws UnsupportedConfiguration when the fidelity refuses, with an estimate of messages and
/// time.
[[nodiscard]] std::unique_ptr<Engine> make_engine(const Cluster& cluster,
                                                  std::span<const Pattern> patterns,
                                                  const EngineOptions& options,
                                                  const PatternRead& read = {});
/// The same over links alone; LinkId is the index.
[[nodiscard]] std::unique_ptr<Engine> make_engine(ClusterLinks links,
                                                  std::span<const Pattern> patterns,
                                                  const EngineOptions& options,
                                                  const PatternRead& read = {});

}  // namespace gradwire
