#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// A flow loads a row with `weight` times its rate.
struct RowUse {
  std::uint32_t row = 0;
  std::uint32_t weight = 1;
  auto operator<=>(const RowUse&) const = default;
};

/// Shared capacities, and columns: the route classes that a flow can take.
struct FlowProblem {
  std::vector<double> capacity;  ///< row -> bytes per second
  std::vector<std::vector<RowUse>> columns;
  /// [column]: is it one of copies, which take turns with all other flows (Transport); empty: none.
  std::vector<bool> copies{};
  /// [row]: of so many equal parts of a link it is one: its capacity and weights are the link's,
  /// divided by their number. Empty: all are whole.
  std::vector<std::uint32_t> parts{};

  [[nodiscard]] std::uint32_t parts_of(std::size_t row) const {
    return parts.empty() ? 1 : parts[row];
  }
  [[nodiscard]] bool is_copy(std::size_t column) const { return !copies.empty() && copies[column]; }
};

/// Far more flows were in flight at once than SimGrid's transport has lanes for. The same run with
/// EngineOptions::slack 0 goes through, as exactly.
class TooManyFlows : public SimulationError {
 public:
  using SimulationError::SimulationError;
};

/// Moves flows through shared rows. At any time the rates are max-min fair: as large as possible,
/// equal where a row limits them, none above its own cap, no row above its capacity.
///
/// On a link that copies and other flows pass and can fill, the others together have one port and
/// each column of copies another, or as many as its weight on the whole link. While copies are on
/// it the others get no more than their port's max-min fair share, where every port of copies asks
/// for as much as its flows' caps and each of its rows let through. Copies share max-min fairly
/// what the others leave.
class Transport {
 public:
  /// The name of a flow in flight, chosen by who starts it.
  using Token = std::uint64_t;
  static constexpr double no_cap = std::numeric_limits<double>::infinity();

  class Listener {
   public:
    /// Flows ended at `now`, in no particular order, or the wake-up time has come (none ended).
    virtual void on_instant(Seconds now, std::span<const Token> ended) = 0;

   protected:
    ~Listener() = default;
  };

  virtual ~Transport() = default;

  /// Starts `bytes` through a column, at `rate_cap` bytes per second at most.
  /// REQUIRES: bytes > 0, rate_cap > 0; from outside run() or from on_instant.
  virtual void start(std::uint32_t column, double bytes, double rate_cap, Token token) = 0;
  /// Asks for an on_instant at `when`, unless one comes earlier: then it has to be asked again.
  virtual void wake_at(Seconds when) = 0;
  /// Returns when nothing is in flight and no wake-up is left.
  /// @throws whatever the listener throws; what is in flight is dropped then.
  virtual void run(Listener& listener) = 0;
  /// Whose program it is: "simgrid", or "gradwire", our own.
  [[nodiscard]] virtual std::string solver() const { return "gradwire"; }
  /// What the clock that instants are rounded on shows at their zero: it may have run before.
  [[nodiscard]] virtual Seconds clock_start() const { return Seconds{}; }
};

}  // namespace gradwire
