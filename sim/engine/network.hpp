#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/collective_cost.hpp"

namespace gradwire {

/// How transfers are moved.
///   fluid:    one flow for each class of flows that behave alike; where whole messages are sent
///             on, one after another;
///   coupled:  one flow for each ring or pipeline, rigid over all its links; independent flows
///             as in fluid. Where rings meet other traffic the truth lies between fluid, in which
///             each hop goes on by itself, and this;
///   step:     every message;
///   automatic: step where that is cheap, else fluid, and coupled above some thousand classes.
enum class Fidelity : std::uint8_t { automatic, fluid, coupled, step };

using PatternId = int;
using TransferId = std::int64_t;

/// What the reduction found, for the report.
struct NetworkStats {
  std::size_t links = 0;         ///< links that any pattern uses
  std::size_t flows = 0;         ///< flows of all patterns
  std::size_t link_classes = 0;  ///< different ones among them
  std::size_t flow_classes = 0;
  std::string fidelity;  ///< "fluid" | "coupled" | "step"
  std::string solver;    ///< that shares the links: "simgrid", or "gradwire", our own
  std::string why;
};

/// Bytes carried by a link over the run.
struct LinkUse {
  LinkId link = 0;
  double bytes = 0;
};

/// Transfers that took longer than uncontended, since they shared links with others.
struct Contended {
  double bytes = 0;    ///< on the wire, of those transfers
  double seconds = 0;  ///< longer than uncontended, all together
};

/// What transfers have carried that have finished, whenever they began.
struct Carried {
  std::vector<double> bytes;  ///< on the wire, by pattern
  Contended contended;
};

/// Moves collectives over the cluster. Decides nothing; time comes from the engine's clock.
class Network {
 public:
  /// Called once a transfer, in order of time; at one instant in order of id.
  using OnDone = std::function<void(TransferId id, Seconds now)>;

  virtual ~Network() = default;

  /// Starts `size` bytes of a pattern now. Legal from every callback.
  /// REQUIRES: `id` is not in flight.
  virtual void start(TransferId id, PatternId pattern, Bytes size, const CollectiveCost& cost) = 0;

  [[nodiscard]] virtual const NetworkStats& stats() const = 0;
  /// Tells bytes on the wire per link, of the transfers finished so far or since restart_usage();
  /// of one that was under way then, as large a share as of its time. Only links with traffic, in
  /// order of id.
  virtual void visit_usage(const std::function<void(const LinkUse&)>& visit) const = 0;
  /// Of the transfers finished so far or since restart_usage().
  [[nodiscard]] virtual Contended contended() const = 0;
  virtual void restart_usage() = 0;
  /// Since the beginning.
  [[nodiscard]] virtual const Carried& carried() const = 0;
  /// visit_usage() and contended() count what has finished since then `times` times more.
  virtual void count_again(const Carried& since, double times) = 0;
};

}  // namespace gradwire
