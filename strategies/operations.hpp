#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/process_groups.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Numbers a strategy's operations from 0 in the order it posts them, over the whole run.
using OperationId = std::int64_t;

/// A class of workers that share a clock's schedule. A strategy of synchronous workers has one, 0,
/// of all ranks; one of independent workers has one a rank.
using WorkerId = int;

// ---- events: what a strategy is notified of
// ----------------------------------------------------------

/// A class of workers starts iteration `iteration` (from 0).
struct IterationStart {
  int iteration = 0;
  WorkerId worker = 0;
};
/// The launcher thread is about to launch this layer's forward kernels (a forward pre-hook): a gate
/// posted now holds them. Told only with Traits::forward_hooks.
struct ForwardStart {
  int layer = 0;
  int micro_batch = 0;
  WorkerId worker = 0;
};
/// The same before this layer's backward kernels. Told only with Traits::backward_hooks.
struct BackwardStart {
  int layer = 0;
  int micro_batch = 0;
  WorkerId worker = 0;
};
/// The launcher thread has launched the kernels of this tensor's gradient and runs its hook; what
/// the hook launches stands right behind the gradient kernel on the compute stream.
struct HookFired {
  TensorId tensor = 0;
  int micro_batch = 0;  ///< 0-based, of `JobView::micro_batches`
  WorkerId worker = 0;
};
/// The launcher thread has launched all of this micro-batch's backward.
struct BackwardDone {
  int micro_batch = 0;
  WorkerId worker = 0;
};
/// An operation of the strategy has ended on every participant.
struct OperationDone {
  OperationId operation = 0;
};
using Event = std::variant<IterationStart, ForwardStart, BackwardStart, HookFired, BackwardDone,
                           OperationDone>;

// ---- operations: what a strategy asks for -----------------------------------------------------

/// What device work is for; decides its row in the trace and its part of the breakdown.
enum class WorkKind : std::uint8_t { copy, encode };

/// Where device work stands.
enum class DeviceStream : std::uint8_t {
  compute,  ///< at the tail: behind everything launched so far
  /// Another stream, in the order posted: it begins as soon as it is posted and the one before it
  /// has ended, and takes the GPU from the compute stream while it runs.
  side,
};

/// Kernels of a strategy's own. Priced by the GPU: time + kernels * overhead + the larger of
/// traffic / reachable memory bandwidth and flops / reachable peak; but no less than `least`.
struct DeviceWork {
  WorkKind kind = WorkKind::copy;
  Bytes traffic{0};  ///< bytes read plus bytes written in device memory
  int kernels = 1;
  std::string label;
  double flops = 0;  ///< of dense matrix products, fp32
  Seconds time{};    ///< measured, in place of or beside the others
  DeviceStream stream = DeviceStream::compute;
  /// Tell OperationDone when it has ended on every rank. Without kernels and time it is a marker:
  /// "everything launched so far has run". Side work always tells.
  bool notify = false;
  WorkerId worker = 0;
  Seconds least{};
  bool estimate = false;  ///< coding that is counted, not measured: it widens the interval
};

/// How many of a machine's ranks are in one of its groups of `part` ranks: all of them where they
/// are fewer, where `part` does not divide them, and with `part` 0. REQUIRES: ranks >= 1.
[[nodiscard]] constexpr int ranks_of_part(int ranks, int part) {
  return part == 0 || ranks % part != 0 ? ranks : part;
}

/// A collective of the job's library. A group of one rank ends at once.
struct Collective {
  /// On a communication stream its collectives run one after the other, in the order posted
  /// (strict).
  enum class Ready : std::uint8_t {
    /// On a rank when everything launched so far on its compute stream has ended; starts when the
    /// last rank is ready, until then the early ranks' kernels spin. REQUIRES: stream 0.
    behind_compute,
    /// When posted: what it needs is known to be there.
    at_once,
  };
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{0};
  std::vector<TensorId> tensors;  ///< what it carries, for the plan and the trace
  std::string label;
  FamilyId communicator = families::all;  ///< whose groups all do it at once; ends with the last
  Ready ready = Ready::behind_compute;
  /// Streams of ready-at-once collectives, from 1; each runs beside the others.
  int stream = 0;
  int part = 0;  ///< of `node`: groups of so many ranks of a machine, see ranks_of_part
  int root = 0;  ///< of reduce and broadcast: who, counted in its group
};

/// Moves bytes by one of the strategy's own exchanges (Strategy::exchanges), as soon as posted,
/// beside everything else. The GPU computes on.
struct Messages {
  int exchange = 0;  ///< index into exchanges()
  Bytes size{0};     ///< what the shares of the exchange are shares of
  std::vector<TensorId> tensors;
  std::string label;
  /// Given: where a compressor codes what travels, others of the exchange go first that are ready
  /// and have a smaller one, or are older. Such messages go one after the other.
  std::optional<std::int64_t> priority{};
  /// A server's end of messages that the strategy's own thread codes there.
  struct ServerEnd {
    int thread = 0;      ///< the strategy's number of a host thread
    bool sends = false;  ///< else it receives
  };
  /// Given: where a compressor codes what travels, that thread does the server's share of it.
  std::optional<ServerEnd> server{};
};

/// Work of a host thread, which does one thing after the other in the order posted.
struct HostWork {
  /// The thread that launches kernels (of `worker`): what it launches later comes later.
  static constexpr int launcher = -1;
  /// No thread: the operation ends `time` after it was posted. A timer.
  static constexpr int no_thread = -2;
  int thread = 0;  ///< the strategy's own number of it, from 0
  Seconds time{};
  std::string label;
  WorkerId worker = 0;    ///< whose launcher; else unused
  bool estimate = false;  ///< as DeviceWork's
  /// What another thread, from 0, does for it.
  struct Beside {
    int thread = 0;
    Seconds time{};
  };
  /// Given: that thread works for it as well, when its turn comes; it ends when both have ended.
  /// REQUIRES: `thread` is not the launcher.
  std::optional<Beside> beside{};
};

/// The compute stream waits here until these operations have ended: what is launched next (the
/// forward pass, copies, the optimizer) starts behind it.
struct Gate {
  std::vector<OperationId> until;
  WorkerId worker = 0;
};

/// An operation that ends when the strategy raises it: what gates can wait for before it is known
/// what will open them.
struct Flag {
  std::string label;
};
/// Ends a flag now.
struct Raise {
  OperationId flag = 0;
};

/// The optimizer's kernels for a part of the model, at the tail of the compute stream. Only of
/// strategies with Traits::own_optimizer; without it the launcher runs the whole step itself.
struct OptimizerStep {
  double share = 1;  ///< of the profile's optimizer time
  std::string label;
  WorkerId worker = 0;
};

using Operation =
    std::variant<DeviceWork, Collective, Messages, HostWork, Gate, Flag, Raise, OptimizerStep>;
using Operations = std::vector<Operation>;

}  // namespace gradwire
