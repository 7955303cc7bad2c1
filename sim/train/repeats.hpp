#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/train/workers.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// Notices that a run repeats itself: in a period of iterations the same operations are posted,
/// begin to move as many bytes of the same patterns and end, and each rank ends, as long after the
/// iteration's start as one period before. What waits or is under way when it ends is the same,
/// too, and since when. Nothing then tells the time that follows from the one that followed then,
/// but what a strategy does by the iteration's number: Strategy::phasing() says after how many that
/// repeats. The clock does not (run_clock.hpp).
///
/// Ranks start where they ended the iteration before, but for a run's first one, which all begin
/// together: where all else is the same it needs no third to tell that the second will come again.
/// What the launcher does that is first may then be as long after its rank's start.
///
/// Times are the same within `same_time` of the iteration: rounding. What is posted at one instant
/// may come in another order, and gets other numbers then. An operation that moves is known by its
/// pattern and bytes, and by when it was posted, began and ended; others, too, and by the order in
/// which they were posted to their queue: there they may stand behind one another.
class Repeats {
 public:
  static constexpr double same_time = 1e-9;

  /// @param period  iterations, >= 1.
  /// @param begins  when the first one does.
  /// @param by_starts  when ranks started an iteration tells the one behind it, too.
  explicit Repeats(int period, double begins = 0, bool by_starts = false)
      : period_(static_cast<std::size_t>(period)), by_starts_(by_starts) {
    now_.start = begins;
  }

  /// @param queue  a number of what never waits for other queues' operations; 0: that of all that
  ///               have none of their own.
  void posted(OperationId operation, double when, int queue = 0) {
    Deed& deed = deed_of(operation);
    deed.queue = queue;
    deed.posted = when;
  }
  void began(OperationId operation, PatternId pattern, double bytes, double when) {
    Deed& deed = deed_of(operation);
    deed.pattern = pattern;
    deed.bytes = bytes;
    deed.began = when;
  }
  void ended(OperationId operation, double when) { deed_of(operation).ended = when; }
  /// An iteration of all ranks has ended, and with it the next one begins.
  /// @param next  the operation that is posted next.
  void iteration_ended(double now, OperationId next, const std::vector<IterationSample>& samples);
  /// The last period's iterations are those of the period before it.
  [[nodiscard]] bool is_steady() const { return alike_ >= period_; }
  /// Those of the iteration `ahead` behind the last, from 1, where all goes on as it did.
  /// REQUIRES: is_steady().
  [[nodiscard]] const std::vector<IterationSample>& samples(std::size_t ahead) const {
    return past_[past_.size() - period_ + (ahead - 1) % period_].samples;
  }

 private:
  static constexpr double not_yet = std::numeric_limits<double>::lowest();

  /// What became of an operation; seconds, in the end less the iteration's start.
  struct Deed {
    std::optional<PatternId> pattern;  ///< that moves
    int queue = 0;
    OperationId number = 0;  ///< of others in their queue; of one from before less the first one's
    double bytes = 0;        ///< that begin to move
    double posted = not_yet;
    double began = not_yet;
    double ended = not_yet;
    auto operator<=>(const Deed&) const = default;
  };
  struct Iteration {
    double start = 0;
    double lasted = 0;
    OperationId first = 0;
    OperationId operations = 0;
    std::vector<Deed> deeds;  ///< in their own order
    std::vector<IterationSample> samples;
  };

  Deed& deed_of(OperationId operation) {
    if (operation < now_.first) return open_[operation];
    const auto index = static_cast<std::size_t>(operation - now_.first);
    if (now_.deeds.size() <= index) now_.deeds.resize(index + 1);
    return now_.deeds[index];
  }
  /// Adds those from before to this iteration's, by its start, and keeps what is still open.
  void settle_deeds();
  [[nodiscard]] bool same(const Iteration& one, const Iteration& other) const;

  std::size_t period_;
  bool by_starts_;
  std::size_t alike_ = 0;  ///< so many iterations in a row were those of one period before
  Iteration now_;
  std::map<OperationId, Deed> open_;  ///< of iterations before, still open when this one began
  std::deque<Iteration> past_;        ///< the last period's, and one more while it is compared
};

}  // namespace gradwire
